"""What a process holds: its physical footprint where the system tells it, its resident bytes, and those of files among them.

- Linux: `/proc/PID/smaps_rollup`. The footprint is anonymous + swapped: what only the process's end or swapping gives back. Mapped is resident - anonymous.
- macOS: the text of `footprint`, or of `vmmap --summary` where that fails (it stops the process for a moment). Resident bytes miss what the GPU holds there.
- elsewhere, or without the right to look: resident bytes only.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from kvlab.probe.system_tools import Run, run_tool


@dataclass(frozen=True, slots=True)
class ProcessBytes:
    """Bytes of one process; None where they could not be read.

    Attributes:
        footprint: Bytes the system charges it with.
        resident: Bytes of it that lie in RAM.
        anonymous: Resident bytes that no file backs.
        mapped: Resident bytes of files.
        swapped: Bytes that were written to swap.
        step: The bytes in whose multiples the footprint is told; 0 for single bytes.
        text: What a tool printed of its categories.
    """

    footprint: int | None = None
    resident: int | None = None
    anonymous: int | None = None
    mapped: int | None = None
    swapped: int | None = None
    step: int = 0
    text: str = ""


class ReadsProcess(Protocol):
    """Reads what a process holds."""

    def __call__(self, pid: int) -> ProcessBytes:
        """Return its bytes; none of them when it is gone."""
        ...


def reader_of_this_system() -> ReadsProcess:
    """Return what reads processes here."""
    return {"Linux": read_linux, "Darwin": read_macos}.get(platform.system(), read_resident)


def read_linux(pid: int, proc: Path = Path("/proc")) -> ProcessBytes:
    """Read `smaps_rollup`; resident bytes only where that is not allowed."""
    try:
        text = (proc / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return read_resident(pid)
    told = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    if "Rss" not in told:
        return read_resident(pid)
    anonymous, swapped = told.get("Anonymous"), told.get("Swap")
    return ProcessBytes(
        footprint=None if anonymous is None else anonymous + (swapped or 0),
        resident=told["Rss"],
        anonymous=anonymous,
        mapped=None if anonymous is None else told["Rss"] - anonymous,
        swapped=swapped,
    )


def read_macos(pid: int, run: Run = run_tool) -> ProcessBytes:
    """Ask `footprint`, then `vmmap`; resident bytes besides."""
    for words in (["footprint", "-f", "bytes", "-p", str(pid)], ["footprint", "-p", str(pid)], ["vmmap", "--summary", str(pid)]):
        text = run(words)
        found = footprint_in(text)
        if found is not None:
            return ProcessBytes(footprint=found[0], resident=read_resident(pid).resident, step=found[1], text=text)
    return read_resident(pid)


def read_resident(pid: int) -> ProcessBytes:
    """Read resident bytes only."""
    try:
        return ProcessBytes(resident=psutil.Process(pid).memory_info().rss)
    except (psutil.Error, OSError):
        return ProcessBytes()


_FOOTPRINT = re.compile(r"(?:phys_footprint|Physical footprint|Footprint):\s+(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\b", re.IGNORECASE)


def footprint_in(text: str) -> tuple[int, int] | None:
    """Return the physical footprint that `footprint` or `vmmap` printed, and the step in which it is told; None when none stands there."""
    found = _FOOTPRINT.search(text)
    if found is None:
        return None
    # both tools mean powers of 1024 by K, M and G, with or without a B
    factor = 1024 ** ("KMGT".index(found[2].upper()) + 1) if found[2] else 1
    decimals = len(found[1].partition(".")[2])
    return round(float(found[1]) * factor), 0 if factor == 1 else round(factor / 10**decimals)
