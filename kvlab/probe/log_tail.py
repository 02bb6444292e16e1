"""The tail of a server's log: the lines that were added since the last look. Lines are handed to a reader and never stored.

Invariants: only whole lines are handed over; at most `MOST` bytes a look; a file that was replaced or cut is read from its new beginning.
"""

from __future__ import annotations

from pathlib import Path

MOST = 16 << 20
"""Bytes that are read at one look; what was added beyond is left out and counted."""


class LogTail:
    """Reads what is added to a log.

    Attributes:
        path: The log.
        left_out: Bytes that were added too fast to be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left_out = 0
        self._file: int
        self._at: int
        self._file, self._at = _size(path)
        self._cut = b""

    def new_lines(self) -> list[bytes]:
        """Return the whole lines that were added since the last look; none when the file is gone."""
        number, size = _size(self.path)
        if number != self._file or size < self._at:
            self._file, self._at, self._cut = number, 0, b""
        skipped = False
        if size - self._at > MOST:
            self.left_out += size - self._at - MOST
            self._at, self._cut, skipped = size - MOST, b"", True
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                added = file.read(size - self._at)
        except OSError:
            return []
        self._at += len(added)
        *lines, self._cut = (self._cut + added).split(b"\n")
        # what follows a gap begins in the middle of a line
        return lines[1:] if skipped else lines


def usual_log() -> Path | None:
    """Return Ollama's log of this user, where one is."""
    path = Path("~/.ollama/logs/server.log").expanduser()
    return path if path.is_file() else None


def _size(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except OSError:
        return 0, 0
    return stat.st_ino, stat.st_size
