"""What importers read of a text that is not to become a recording of its own, such as one that a probe met: events, in the order in which they were told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import polars as pl

from kvlab.events import EVENTS, Event, Observed
from kvlab.importers.paste import Paste
from kvlab.importers.rows import Rows
from kvlab.importers.summary import Summary

_STAMPS = frozenset({"seq", "t", "request", "source"})


class KeptTables:
    """Takes the tables that rows make, in the place of a recorder.

    Attributes:
        tables: Those that were kept and not yielded yet.
    """

    def __init__(self) -> None:
        self.tables: list[pl.DataFrame] = []

    def write_table(self, table: pl.DataFrame) -> None:
        """Keep a table of events."""
        self.tables.append(table)

    def events(self) -> Iterator[Event]:
        """Yield the events that were kept since the last call. What a text does not tell is None, which is not 0."""
        tables, self.tables = self.tables, []
        for table in tables:
            for row in table.iter_rows(named=True):
                cls = EVENTS[row["kind"]]
                values: dict[str, Any] = {item.name: row.get(item.name) for item in fields(cls) if item.name not in _STAMPS}
                yield cls(request=row["request"], **values)


def observed_in(text: str, kind: str | None = None) -> list[Observed]:
    """Return the figures that a tool printed; lines that no format, or not this one, knows are passed over."""
    kept = KeptTables()
    rows = Rows(kept, "")
    paste = Paste(rows, Summary(), kind)
    paste.lines(text.encode().splitlines())
    paste.finish()
    rows.flush()
    return [event for event in kept.events() if isinstance(event, Observed)]
