"""Writing a file where a user names it: under another name in the same folder, and renamed over an earlier one only when it is whole.

Invariants: a file that kvlab did not make keeps its bytes unless the user forces it; until the new file is whole, on a full disk and after a kill too,
the earlier one is as it was; a device or a pipe is written through, a link is followed, neither is replaced; a folder is refused.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kvlab.errors import BadValue, UnreadableInput, followed, require_path

HEAD = 2048
"""Bytes from a file's beginning by which its kind is recognised."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What is written, in words such as `a report`, and how an earlier file of that kind is recognised.

    Attributes:
        name: The words.
        is_ours: Return whether the file at a path is of that kind and was made by kvlab; may raise OSError.
    """

    name: str
    is_ours: Callable[[Path], bool]


def headed(name: str, is_ours: Callable[[bytes], bool]) -> FileKind:
    """Return a kind that is recognised by a file's first `HEAD` bytes."""

    def found(path: Path) -> bool:
        with path.open("rb") as file:
            return is_ours(file.read(HEAD))

    return FileKind(name, found)


def require_replaceable(path: str | Path, kind: FileKind, *, force: bool = False) -> Path:
    """Return what `path` names, absolute and with links followed, when `kind` may be written there; nothing changes.

    Raises:
        BadValue: a file is there that is not of that kind, and it is not forced.
        UnreadableInput: a folder, a socket or a disk is there, or it cannot be seen what is there.
    """
    out = require_path(path)
    try:
        mode = out.stat().st_mode
    except FileNotFoundError:
        # a link to nothing is followed as well
        return followed(out)
    except (OSError, RuntimeError) as error:
        raise unwritable(out, reason(error)) from None
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
        return out
    if not stat.S_ISREG(mode):
        raise unwritable(out, "a folder of that name is there" if stat.S_ISDIR(mode) else "what is there is neither a file, a device, nor a pipe")
    if not force and not _is_ours(out, kind):
        raise BadValue(
            what=f"{str(out)!r} is there already",
            why=f"it is not {kind.name} that kvlab wrote, and it would be lost",
            hint="choose another name, or replace it with --force (in Python: force=True)",
        )
    return followed(out)


@contextmanager
def replacing(path: str | Path, kind: FileKind, *, force: bool = False) -> Generator[IO[bytes]]:
    """Give a file to write `kind` into, which takes the place of what `path` names when the block has ended well; see `require_replaceable`.

    Raises:
        BadValue: a file is there that is not of that kind, and it is not forced.
        UnreadableInput: it cannot be written; then what is there is as it was.
    """
    target = require_replaceable(path, kind, force=force)
    if target.exists() and not target.is_file():
        try:
            with target.open("wb") as file:
                yield file
        except OSError as error:
            raise unwritable(target, reason(error)) from None
        return
    with replaced(target) as file:
        yield file
        # a file that came meanwhile is not ours either
        require_replaceable(target, kind, force=force)


@contextmanager
def replaced(target: Path, *, durable: bool = True) -> Generator[IO[bytes]]:
    """Give a file that is renamed to `target` when the block has ended well, even over another owner's file; a `durable` one outlasts a power cut.

    Raises:
        UnreadableInput: it cannot be written; then what is there is as it was.
    """
    # a short name: the target's own may be as long as names can be
    new = target.parent / f".kvlab-{secrets.token_hex(6)}.tmp"
    try:
        with new.open("xb") as file:
            yield file
            file.flush()
            if durable:
                # some file systems find only here that there is no room
                os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(target, new)
        new.replace(target)
    except OSError as error:
        raise unwritable(target, reason(error)) from None
    finally:
        with contextlib.suppress(OSError):
            new.unlink()


def unwritable(path: Path, why: str) -> UnreadableInput:
    """Return the error that `path` cannot be written."""
    return UnreadableInput(what=f"{str(path)!r} cannot be written", why=why, hint="choose a folder that you may write to and that has room")


def reason(error: OSError | RuntimeError) -> str:
    """Return in words what the system refused."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _is_ours(path: Path, kind: FileKind) -> bool:
    try:
        return kind.is_ours(path)
    except OSError:
        return False
