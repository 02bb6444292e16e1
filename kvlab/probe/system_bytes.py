"""What the system says of a process and of the machine: bytes, swap, pressure.

- Linux: `/proc`, through psutil, and the share of time that some process waited for pages (`/proc/pressure/memory`).
- macOS: for a process the text of `footprint`, or of `vmmap --summary` where that fails (it stops the process for a moment), with its categories of bytes;
  for the machine `vm_stat` for swapping (psutil counts page-ins of files as swap), `memory_pressure` for the free share.

A tool that is missing or fails prints nothing here.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from kvlab.allocator.process_bytes import ProcessBytes, read_resident
from kvlab.allocator.process_bytes import read_linux as read_linux_process
from kvlab.events import Event
from kvlab.importers.paste import observed_in

Run = Callable[[Sequence[str]], str]
"""Runs a tool and returns what it printed; "" when it is missing, fails or takes too long."""

WITHIN_S = 20.0


def _run_tool(words: Sequence[str]) -> str:
    """Return what a tool printed, "" when it printed nothing of use."""
    program = shutil.which(words[0])
    if program is None:
        return ""
    try:
        done = subprocess.run([program, *words[1:]], check=False, capture_output=True, text=True, errors="replace", timeout=WITHIN_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


@dataclass(frozen=True, slots=True)
class MachineBytes:
    """Bytes of the machine; None where they could not be read.

    Attributes:
        available: What can be allocated without swapping, as the system estimates it.
        swap_used: Swap in use.
        swapped_in: Read back from swap since the machine began.
        swapped_out: Written to swap since the machine began.
        free_share: The share of all bytes that the system calls free (macOS).
        pressure_share: The share of the last 10 s in which some process waited for pages (Linux).
    """

    available: int | None = None
    swap_used: int | None = None
    swapped_in: int | None = None
    swapped_out: int | None = None
    free_share: float | None = None
    pressure_share: float | None = None


ReadsMachine = Callable[[], MachineBytes]


def machine_reader() -> ReadsMachine:
    """Return what reads the machine here."""
    return read_macos_machine if platform.system() == "Darwin" else read_linux_machine


def read_linux_machine(pressure: Path = Path("/proc/pressure/memory")) -> MachineBytes:
    """Read `/proc` through psutil, and the pressure."""
    with warnings.catch_warnings():
        # a container may hide the counters; then there are none
        warnings.simplefilter("ignore", RuntimeWarning)
        swap = psutil.swap_memory()
    try:
        some = re.search(r"^some avg10=(\d+(?:\.\d+)?)", pressure.read_text(), re.MULTILINE)
    except OSError:
        some = None
    return MachineBytes(
        available=psutil.virtual_memory().available,
        swap_used=swap.used,
        swapped_in=swap.sin,
        swapped_out=swap.sout,
        pressure_share=float(some[1]) / 100 if some else None,
    )


def read_macos_machine(run: Run = _run_tool) -> MachineBytes:
    """Read `vm_stat`, `memory_pressure` and psutil."""
    found = {event.gauge: event for event in observed_in(f"{run(['vm_stat'])}\n{run(['memory_pressure', '-Q'])}", "vm_stat")}
    swapped = [found[gauge].observed if gauge in found else None for gauge in ("swapped_in", "swapped_out")]
    return MachineBytes(
        available=psutil.virtual_memory().available,
        swap_used=psutil.swap_memory().used,
        swapped_in=swapped[0],
        swapped_out=swapped[1],
        free_share=found["free_share"].number if "free_share" in found else None,
    )


class ReadsProcess(Protocol):
    """Reads what a process holds."""

    def __call__(self, pid: int) -> ProcessBytes:
        """Return its bytes; none of them when it is gone."""
        ...


def process_reader() -> ReadsProcess:
    """Return what reads processes here."""
    return {"Linux": read_linux_process, "Darwin": read_macos_process}.get(platform.system(), read_resident)


def read_macos_process(pid: int, run: Run = _run_tool) -> ProcessBytes:
    """Run `footprint`, then `vmmap`; with the resident bytes."""
    for words in (["footprint", "-f", "bytes", "-p", str(pid)], ["footprint", "-p", str(pid)], ["vmmap", "--summary", str(pid)]):
        text = run(words)
        found = footprint_in(text)
        if found is not None:
            return ProcessBytes(footprint=found[0], resident=read_resident(pid).resident, step=found[1], text=text)
    return read_resident(pid)


def footprint_in(text: str) -> tuple[int, int] | None:
    """Return the physical footprint that `footprint` or `vmmap` printed, and the step to which it is rounded; None when it printed none."""
    for event in observed_in(text):
        if event.gauge in ("footprint", "phys_footprint") and event.observed is not None:
            return event.observed, 0 if event.step in (None, 1) else event.step
    return None


_CATEGORIES = ("dirty", "clean", "reclaimable", "resident", "swapped")


def categories(text: str, pid: int) -> list[Event]:
    """Return what `footprint` or `vmmap` printed of a process's categories of bytes: graphics, heap, mapped files, stacks."""
    found = [event for event in observed_in(text) if event.gauge in _CATEGORIES]
    for event in found:
        event.pid = pid
    return list(found)
