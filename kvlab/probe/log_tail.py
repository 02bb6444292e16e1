"""The tail of a server's log: the lines added since the last sample, read by the log importer as events. Lines are never stored.

Invariants: only whole lines are read; at most `MOST` bytes a sample; a file that was replaced or cut is read from its new beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from kvlab.events import Event, Observed, RequestBegan, RequestClosed
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.rows import KeptTables, Rows
from kvlab.importers.summary import Summary
from kvlab.probe.writer import SOURCE

MOST = 16 << 20
"""Bytes that are read at one sample; what was added beyond is left out and counted."""


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
        """Return the whole lines that were added since the last call; none when the file is gone."""
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


class LogEvents:
    """The events of a log that grows. Their `request` is the log's own count; 0 for what belongs to none."""

    def __init__(self, tail: LogTail) -> None:
        self.tail = tail
        self.summary = Summary()
        self._kept = KeptTables()
        self._rows = Rows(self._kept, SOURCE)
        self._log = OllamaLog(self._rows, self.summary)

    def __call__(self) -> list[Event]:
        """Return the events of what was added since the last call."""
        self._log.lines([line.decode("utf-8", "replace") for line in self.tail.new_lines()])
        self._rows.flush()
        return list(self._kept.events())


def inside_a_request(events: Sequence[Event]) -> list[Event]:
    """Return a log's events as those of a request whose beginning and end the probe itself records."""
    inside: list[Event] = []
    for event in events:
        if isinstance(event, RequestClosed):
            peak = cast("int | None", event.peak)
            inside += [Observed(gauge="peak", observed=peak, unit="B", step=1)] if peak is not None else []
        elif not isinstance(event, RequestBegan):
            inside.append(event)
    return inside
