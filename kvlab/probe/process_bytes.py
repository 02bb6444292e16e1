"""How a probe reads what a process holds: as `kvlab.allocator.process_bytes` does, but on macOS by the system's tools, which also tell its categories of bytes.

There it is the text of `footprint`, or of `vmmap --summary` where that fails (it stops the process for a moment).
"""

from __future__ import annotations

import platform
from typing import Protocol

from kvlab.allocator.process_bytes import ProcessBytes, read_linux, read_resident
from kvlab.importers.paste import observed_in
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


def footprint_in(text: str) -> tuple[int, int] | None:
    """Return the physical footprint that `footprint` or `vmmap` printed, and the step in which it is told; None when none stands there."""
    for event in observed_in(text):
        if event.gauge in ("footprint", "phys_footprint") and event.observed is not None:
            return event.observed, 0 if event.step in (None, 1) else event.step
    return None
