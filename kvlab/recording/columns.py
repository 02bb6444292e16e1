"""The table of events: its polars schema, and how events become rows of it.

Invariants: a table of events has exactly the columns of `kvlab.events.COLUMNS`, in that order and with these types;
a column that an event's kind does not have is null; rows are in the order in which the events were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import polars as pl

from kvlab.events import COLUMNS, EVENTS, PRIVATE_COLUMNS, Event, RequestBegan
from kvlab.visible_text import storable

_TYPES: dict[str, pl.DataType] = {"int": pl.Int64(), "float": pl.Float64(), "str": pl.String(), "bool": pl.Boolean()}

SCHEMA: dict[str, pl.DataType] = {name: _TYPES[type_name] for name, type_name in COLUMNS.items()}
"""Every column of the table of events with its polars type."""

MOST_LETTERS, MOST_WORDS = 16, 2
"""A label may share so much with its prompt, as names do."""

_FIELDS: dict[type[Event], tuple[str, ...]] = {cls: tuple(item.name for item in fields(cls)) for cls in EVENTS.values()}
_GETTERS = {name: attrgetter(name) for name in COLUMNS}


def frame(events: Sequence[Event], *, store_text: bool = True) -> pl.DataFrame:
    """Return events as a table with `SCHEMA`, a row an event. Without `store_text` the private columns are null, and a label that reveals a prompt is ""."""
    if not events:
        return empty()
    places: dict[type[Event], list[int]] = {}
    for place, event in enumerate(events):
        places.setdefault(type(event), []).append(place)
    columns: dict[str, list[Any]] = {"kind": [event.kind for event in events]}
    for cls, taken in places.items():
        for name in _FIELDS[cls]:
            if name in PRIVATE_COLUMNS and not store_text:
                continue
            column = columns.get(name)
            if column is None:
                column = columns[name] = [None] * len(events)
            get = _GETTERS[name]
            for place in taken:
                column[place] = get(events[place])
    if not store_text:
        _hide_prompts(columns.get("label", []), places.get(RequestBegan, ()), events)
    filled = pl.DataFrame([_series(name, values) for name, values in columns.items()])
    return conform(filled)


def _series(name: str, values: list[Any]) -> pl.Series:
    try:
        return pl.Series(name, values, dtype=SCHEMA[name])
    except UnicodeEncodeError:
        return pl.Series(name, [storable(value) if isinstance(value, str) else value for value in values], dtype=SCHEMA[name])


def _hide_prompts(labels: list[Any], places: Sequence[int], events: Sequence[Event]) -> None:
    for place in places:
        if reveals_text(labels[place], getattr(events[place], "text", None) or ""):
            labels[place] = ""


def reveals_text(label: str, text: str) -> bool:
    """Return whether a request's label is its prompt or a piece of it: more than a word or two that both have."""
    short, long = sorted((" ".join(label.split()), " ".join(text.split())), key=len)
    return short in long and (len(short) > MOST_LETTERS or len(short.split()) > MOST_WORDS)


def conform(table: pl.DataFrame) -> pl.DataFrame:
    """Return `table` with exactly the columns of `SCHEMA`: a missing one is null, an unknown one is left out.

    Raises:
        polars.exceptions.PolarsError: a column has a type that cannot be read as ours, or `kind` or `seq` is missing.
    """
    names = set(table.columns) | {"kind", "seq"}
    return table.select(pl.col(name).cast(dtype) if name in names else pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items())


def empty() -> pl.DataFrame:
    """Return a table of events without rows."""
    return pl.DataFrame(schema=SCHEMA)
