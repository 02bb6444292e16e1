"""Call sites: which Python code allocated bytes. A run that records them marks `Allocated`, `SnapshotTaken` and `SnapshotOwned` with it.

A call site is a line `FILE:LINE FUNCTION` for kvlab's function that took the bytes, then one for each of kvlab's functions that called it, then
the nearest line of the code that called kvlab. Other people's packages and Python's own modules between them are left out.

Invariant: no path of the machine is recorded, since recordings are shared: a file is named from its package on, one in no package by its name alone.
"""

from __future__ import annotations

import inspect
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from kvlab.events import Allocated, Event, SnapshotOwned, SnapshotTaken

MARKED = (Allocated, SnapshotTaken, SnapshotOwned)
"""Events that carry a call site."""

PACKAGE = Path(__file__).parents[1]
"""kvlab's folder."""

BOOKKEEPING = ("kvlab/allocator/", "kvlab/events/", "kvlab/layers/registry.py")
"""Files that only record allocations of others."""

CELL = "cell"
"""What the file of a notebook's cell is called."""

_INSIDE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Parts of a function that some versions of Python run in a frame of their own."""

_PYTHONS_OWN = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")})


class CallSites:
    """Marks events with the code that allocated their bytes."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: dict[CodeType, tuple[str, bool]] = {}

    def __call__(self, event: Event) -> None:
        """Mark `event`, when it is one of `MARKED`."""
        if isinstance(event, MARKED):
            event.call_site = "\n".join(self._lines(inspect.currentframe()))

    def _lines(self, frame: FrameType | None) -> Iterator[str]:
        ours = True
        while frame is not None and ours:
            code = frame.f_code
            if code not in self._files:
                self._files[code] = _file(code, str(frame.f_globals.get("__name__")))
            file, ours = self._files[code]
            if file:
                yield f"{file}:{frame.f_lineno} {code.co_qualname}"
            frame = frame.f_back


def _file(code: CodeType, module: str) -> tuple[str, bool]:
    """Return how the file of `code` is called, "" when its frames are left out, and whether its callers are recorded too."""
    path = Path(code.co_filename)
    ours = path.is_relative_to(PACKAGE)
    name = (PACKAGE.name / path.relative_to(PACKAGE)).as_posix() if ours else _from_package(path, module)
    if code.co_name in _INSIDE or (name.startswith(BOOKKEEPING) if ours else _is_library(path)):
        return "", True
    return name, ours


def _from_package(path: Path, module: str) -> str:
    """Return `path` from the package of `module` on; its last part alone when it is in none."""
    if path.parent.name.startswith("ipykernel_"):
        return CELL
    packages = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    inside = bool(packages) and path.parent.parts[-len(packages) :] == tuple(packages)
    return "/".join([*packages, path.name]) if inside else path.name


def _is_library(path: Path) -> bool:
    return str(path).startswith(("<frozen", *_PYTHONS_OWN)) or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
