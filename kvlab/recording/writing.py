"""Who writes a recording: a lock next to its folder, so that two runs never mix their events in one.

Invariant: the lock is the system's own, so it ends with its process, a kill included; no lock file is left by one that ends well.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from filelock import FileLock, Timeout

from kvlab.errors import UnreadableInput
from kvlab.output_file import reason, unwritable
from kvlab.recording.place import restore_left


class Writing:
    """The right to write at one place, held until `close` or until this object dies."""

    __slots__ = ("_lock", "_owner")

    def __init__(self, out: Path) -> None:
        """Take it.

        Raises:
            UnreadableInput: another run writes there, or the folder around it cannot be written.
        """
        self._owner = os.getpid()
        # not bound to a thread: a forgotten Recorder may die in another one
        self._lock = FileLock(out.parent / f".{out.name}.lock", thread_local=False)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            restore_left(out)
        except Timeout:
            # some systems that make no file there answer as if the lock were held
            _require_room_for_a_file(out.parent)
            raise UnreadableInput(
                what=f"another run is writing to {str(out)!r}",
                why="two runs in one recording would mix their events",
                hint="choose another name, or wait until that run has ended",
            ) from None
        except OSError as error:
            raise unwritable(out, reason(error)) from None

    def close(self) -> None:
        """Give it back; a second call does nothing. A forked child has a copy of this object, but the right is its parent's."""
        if os.getpid() == self._owner and self._lock.is_locked:
            with contextlib.suppress(OSError):
                Path(self._lock.lock_file).unlink()
            self._lock.release()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self.close()


def _require_room_for_a_file(folder: Path) -> None:
    tried = folder / f".kvlab-{secrets.token_hex(4)}"
    try:
        tried.touch(exist_ok=False)
        tried.unlink()
    except OSError as error:
        raise unwritable(folder, f"no file can be made in that folder: {reason(error)}") from None
