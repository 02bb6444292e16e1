"""The user's cache folder, and making something in it exactly once.

Invariants: what has its final name is complete; a second process waits for the first instead of making it too;
whatever a failed or killed attempt left in the scratch folder is swept by the next one.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_dir

from kvlab.errors import UnreadableInput

VARIABLE = "KVLAB_CACHE"
"""The environment variable that names another cache folder."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""What a write into a full or read-only file system fails with; such an error does not always name the file."""


def folder() -> Path:
    """Return the cache folder: `KVLAB_CACHE`, else the platform's own place for caches. It need not exist yet."""
    return Path(os.environ.get(VARIABLE) or user_cache_dir("kvlab")).expanduser()


def place(name: str, kind: str = "models") -> Path:
    """Return the path of the file or folder `name` in the cache once it is complete; files of one `kind` are in one folder."""
    return folder() / kind / name


def once(name: str, make: Callable[[Path], Path], kind: str = "models") -> Path:
    """Return `place(name, kind)`; if nothing is there, `make` it first.

    Args:
        name: A file's or folder's name, unique in the cache.
        make: Gets an empty scratch folder and returns the finished file or folder in it.
        kind: The folder of the cache it is kept in.

    Raises:
        UnreadableInput: the cache folder cannot be written.
        Exception: whatever else `make` raises, as it is.
    """
    target = place(name, kind)
    scratches = folder() / "scratch"
    with _writing():
        if target.exists():
            return target
        for needed in (target.parent, scratches, folder() / "locks"):
            needed.mkdir(parents=True, exist_ok=True)
    with _held(name):
        # the holder of the lock is alone, so every other scratch folder of this name belongs to a dead attempt
        for stale in scratches.glob(f"{name}@*"):
            shutil.rmtree(stale, ignore_errors=True)
        if not target.exists():
            _make(target, scratches, make)
    return target


def _make(target: Path, scratches: Path, make: Callable[[Path], Path]) -> None:
    with _writing():
        scratch = Path(tempfile.mkdtemp(prefix=f"{target.name}@", dir=scratches))
    try:
        try:
            made = make(scratch)
        except OSError as error:
            # `make` may also fail for its own reasons, such as a client that cannot be started
            if error.errno in NO_ROOM:
                raise _unwritable(error) from error
            raise
        with _writing():
            # same file system, so this is one step for everybody else
            made.replace(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _writing() -> Generator[None]:
    """Whatever the system refuses inside is a cache folder that cannot be written."""
    try:
        yield
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> UnreadableInput:
    return UnreadableInput(
        what=f"the cache folder {folder()} cannot be written",
        why=str(error),
        hint=f"free some space there, or set {VARIABLE} to a folder that can be written",
    )


@contextmanager
def _held(name: str) -> Generator[None]:
    lock = FileLock(folder() / "locks" / f"{name}.lock")
    with _writing():
        try:
            lock.acquire(timeout=0)
        except Timeout:
            from tqdm.auto import tqdm

            tqdm.write(f"another process is getting {name}; waiting for it", file=sys.stderr)
            lock.acquire()
    try:
        yield
    finally:
        lock.release()
