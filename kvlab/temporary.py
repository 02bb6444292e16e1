"""Temporary folders: removed when their owner dies; what a kill left is removed when a program of kvlab's starts next.

Invariants: a folder whose lock is held is of a live process; only a folder of this user with a lock file of ours, whose lock is free, is swept.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType

from kvlab.errors import UnreadableInput
from kvlab.output_file import reason

_PREFIX = "kvlab-run-"
_NAME = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}")
_LOCK = ".kvlab-lock"


class TemporaryFolder:
    """A folder that is removed when this object dies or the program ends.

    Raises:
        UnreadableInput: the system has no place for it.
    """

    __slots__ = ("__weakref__", "_remove", "path")

    def __init__(self) -> None:
        try:
            sweep(tempfile.gettempdir())
            self.path, lock = _made()
        except OSError as error:
            raise UnreadableInput(
                what="no temporary folder can be made",
                why=reason(error),
                hint="set TMPDIR to a folder that you may write to and that has room",
            ) from None
        self._remove = weakref.finalize(self, _removed, self.path, lock, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove it now."""
        self._remove()


def is_temporary(path: Path) -> bool:
    """Return whether `path` is inside a temporary folder, which is removed with what is in it."""
    return any(_NAME.fullmatch(folder.name) and (folder / _LOCK).exists() for folder in path.parents)


@cache
def sweep(place: str) -> None:
    """Remove the temporary folders in `place` whose processes are gone; once a process."""
    with suppress(OSError):
        for folder in Path(place).iterdir():
            if _NAME.fullmatch(folder.name):
                _swept(folder)


def _made() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        # one that sweeps may have come in between
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (folder / _LOCK).exists():
                return folder, lock
        os.close(lock)


def _swept(folder: Path) -> None:
    with suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            return
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _removed(folder: Path, lock: int, owner: int) -> None:
    # a forked child has a copy of the object; the folder is still its parent's
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
