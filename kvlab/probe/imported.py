"""Imported: what the importers read of a text that a probe met, as events: the server's log as it grows, and the text of the system's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, cast

import polars as pl

from kvlab.events import EVENTS, Event, Observed, RequestBegan, RequestClosed
from kvlab.importers.blocks import Blocks, Output, Section
from kvlab.importers.mac_tools import Footprint
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.processes import Vmmap
from kvlab.importers.rows import Rows
from kvlab.importers.summary import Summary
from kvlab.probe.log_tail import LogTail
from kvlab.probe.telling import SOURCE
from kvlab.recording import Recorder

_STAMPS = frozenset({"seq", "t", "request", "source"})


class _Kept:
    """Takes the tables that rows make, in the place of a recorder."""

    def __init__(self) -> None:
        self.tables: list[pl.DataFrame] = []

    def write_table(self, table: pl.DataFrame) -> None:
        self.tables.append(table)

    def events(self) -> Iterator[Event]:
        tables, self.tables = self.tables, []
        for table in tables:
            for row in table.iter_rows(named=True):
                cls = EVENTS[row["kind"]]
                # what the text does not tell stays None, which is not 0
                values: dict[str, Any] = {item.name: row.get(item.name) for item in fields(cls) if item.name not in _STAMPS}
                yield cls(request=row["request"], **values)


class LogEvents:
    """The events of a log that grows. Their `request` is the log's own count; 0 for what belongs to none."""

    def __init__(self, tail: LogTail) -> None:
        self.tail = tail
        self.summary = Summary()
        self._kept = _Kept()
        self._rows = Rows(cast("Recorder", self._kept), SOURCE)
        self._log = OllamaLog(self._rows, self.summary)

    def __call__(self) -> list[Event]:
        """Return the events of what was added since the last call."""
        self._log.lines(self.tail.new_lines())
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
    kept = _Kept()
    rows = Rows(cast("Recorder", kept), SOURCE)
    sections: list[Callable[[Output], Section]] = [Footprint, Vmmap]
    blocks = Blocks(rows, Summary(), sections)
    blocks.lines(text.encode().splitlines())
    blocks.finish()
    rows.flush()
    found = [event for event in kept.events() if isinstance(event, Observed) and event.gauge in _CATEGORIES]
    for event in found:
        event.pid = pid
    return list(found)
