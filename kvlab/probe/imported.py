"""Imported: what the importers read of a text that a probe met, as events: the server's log as it grows, and the text of the system's tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kvlab.events import Event, Observed, RequestBegan, RequestClosed
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.paste import observed_in
from kvlab.importers.rows import KeptTables, Rows
from kvlab.importers.summary import Summary
from kvlab.probe.log_tail import LogTail
from kvlab.probe.telling import SOURCE


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
    """Return a log's events as those of a request that the probe itself tells the beginning and the end of."""
    told: list[Event] = []
    for event in events:
        if isinstance(event, RequestClosed):
            peak = cast("int | None", event.peak)
            told += [Observed(gauge="peak", observed=peak, unit="B", step=1)] if peak is not None else []
        elif not isinstance(event, RequestBegan):
            told.append(event)
    return told


_CATEGORIES = ("dirty", "clean", "reclaimable", "resident", "swapped")


def categories(text: str, pid: int) -> list[Event]:
    """Return what `footprint` or `vmmap` printed of a process's categories of bytes: graphics, heap, mapped files, stacks."""
    found = [event for event in observed_in(text) if event.gauge in _CATEGORIES]
    for event in found:
        event.pid = pid
    return list(found)
