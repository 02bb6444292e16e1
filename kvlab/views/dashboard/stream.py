"""The events of a recording as objects, in order: what a live run gives and what a recording keeps are read the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import polars as pl

from kvlab.events import EVENTS, PRIVATE_COLUMNS, Event


def events_of(table: pl.DataFrame, *, texts: bool = False) -> list[Event]:
    """Return the rows of a table of events as events, in the order of the rows; what a row lacks has its default. Prompts and answers only with `texts`."""
    rows = table.with_row_index("_row")
    found: dict[int, Event] = {}
    for (kind,), part in rows.group_by("kind", maintain_order=True):
        cls = EVENTS.get(str(kind))
        if cls is not None:
            found |= dict(_made(cls, part, texts=texts))
    return [found[row] for row in sorted(found)]


def _made(cls: type[Event], part: pl.DataFrame, *, texts: bool) -> Iterator[tuple[int, Event]]:
    names = [item.name for item in fields(cls) if texts or item.name not in PRIVATE_COLUMNS]
    for row, *values in part.select("_row", *names).iter_rows():
        told: dict[str, Any] = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield row, cls(**told)
