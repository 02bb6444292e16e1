"""The table of events: its polars schema, and how events become rows of it.

Invariants: a table of events has exactly the columns of `kvlab.events.COLUMNS`, in that order and with these types;
a column that an event's kind does not have is null; rows are in the order in which the events were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
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
    classes = list(map(type, events))
    numbers = {cls: number for number, cls in enumerate(dict.fromkeys(classes))}
    codes = np.fromiter(map(numbers.__getitem__, classes), np.int64, len(classes))
    order = np.argsort(codes, kind="stable")
    places: list[int] = order.tolist()
    rows, ends = [events[place] for place in places], np.bincount(codes).cumsum().tolist()
    # a table a kind first: of the wide one most values are null, and none of those is made here one by one
    tables = [_of_class(cls, rows[first:end], store_text=store_text) for cls, first, end in zip(numbers, [0, *ends], ends, strict=False)]
    filled = pl.concat(tables, how="diagonal", rechunk=True) if len(tables) > 1 else tables[0]
    return conform(filled[pl.Series(np.argsort(order), dtype=pl.get_index_type())] if len(tables) > 1 else filled)


def _of_class(cls: type[Event], events: list[Event], *, store_text: bool) -> pl.DataFrame:
    """Return events of one class as a table with its fields."""
    columns = [pl.Series("kind", [cls.kind], pl.String).new_from_index(0, len(events))]
    for name in _FIELDS[cls]:
        if store_text or name not in PRIVATE_COLUMNS:
            values: list[Any] = list(map(_GETTERS[name], events))
            hidden = not store_text and name == "label" and cls is RequestBegan
            columns.append(_series(name, _without_prompts(events, values) if hidden else values))
    return pl.DataFrame([column for column in columns if column.null_count() < len(events)])


def _without_prompts(events: list[Event], labels: Iterable[str]) -> list[str]:
    """Return the labels, "" for those that reveal their request's prompt."""
    texts = (getattr(event, "text", None) or "" for event in events)
    return ["" if reveals_text(label, text) else label for label, text in zip(labels, texts, strict=True)]


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(name, values, dtype=SCHEMA[name])
    except UnicodeEncodeError:
        return pl.Series(name, [storable(value) if isinstance(value, str) else value for value in values], dtype=SCHEMA[name])


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
