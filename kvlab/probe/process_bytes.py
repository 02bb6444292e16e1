"""How a probe reads what a process holds: as `kvlab.allocator.process_bytes` does, but on macOS by the system's tools, which also tell its categories of bytes.

There it is the text of `footprint`, or of `vmmap --summary` where that fails (it stops the process for a moment).
"""

from __future__ import annotations

import platform
import re
from typing import Protocol

from kvlab.allocator.process_bytes import ProcessBytes, read_linux, read_resident
from kvlab.probe.system_tools import Run, run_tool


class ReadsProcess(Protocol):
    """Reads what a process holds."""

    def __call__(self, pid: int) -> ProcessBytes:
        """Return its bytes; none of them when it is gone."""
        ...


def reader_of_this_system() -> ReadsProcess:
    """Return what reads processes here."""
    return {"Linux": read_linux, "Darwin": read_macos}.get(platform.system(), read_resident)


def read_macos(pid: int, run: Run = run_tool) -> ProcessBytes:
    """Ask `footprint`, then `vmmap`; resident bytes besides."""
    for words in (["footprint", "-f", "bytes", "-p", str(pid)], ["footprint", "-p", str(pid)], ["vmmap", "--summary", str(pid)]):
        text = run(words)
        found = footprint_in(text)
        if found is not None:
            return ProcessBytes(footprint=found[0], resident=read_resident(pid).resident, step=found[1], text=text)
    return read_resident(pid)


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
