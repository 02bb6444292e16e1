"""What the machine has left: available bytes, swap in use, what was swapped in and out since it began, and its pressure.

- Linux: `/proc`, through psutil, and the share of time that somebody waited for pages (`/proc/pressure/memory`).
- macOS: `vm_stat` for swapping (psutil tells page-ins of files for it), `memory_pressure` for the free share.
"""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from kvlab.importers.paste import observed_in
from kvlab.probe.system_tools import Run, run_tool


@dataclass(frozen=True, slots=True)
class MachineBytes:
    """Bytes of the machine; None where they could not be read.

    Attributes:
        available: What can be had without swapping, as the system estimates it.
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


def reader_of_this_machine() -> ReadsMachine:
    """Return what reads the machine here."""
    return read_macos if platform.system() == "Darwin" else read_linux


def read_linux(pressure: Path = Path("/proc/pressure/memory")) -> MachineBytes:
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


def read_macos(run: Run = run_tool) -> MachineBytes:
    """Read `vm_stat`, `memory_pressure` and psutil."""
    told = {event.gauge: event for event in observed_in(f"{run(['vm_stat'])}\n{run(['memory_pressure', '-Q'])}", "vm_stat")}
    swapped = [told[gauge].observed if gauge in told else None for gauge in ("swapped_in", "swapped_out")]
    return MachineBytes(
        available=psutil.virtual_memory().available,
        swap_used=psutil.swap_memory().used,
        swapped_in=swapped[0],
        swapped_out=swapped[1],
        free_share=told["free_share"].number if "free_share" in told else None,
    )
