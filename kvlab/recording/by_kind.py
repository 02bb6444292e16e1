"""Events by kind: in a process the events of a recording are a table a kind, with those columns of the kind that hold something.

One table with the columns of all kinds is mostly nulls. Whole numbers take four bytes where all of a column fit, and names that repeat are categories;
`rows` gives both back as `columns.SCHEMA` has them, of the kinds and columns that are read.
Invariants: a kind's rows are in the order of `seq`; nothing that events of a kind have is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise

import polars as pl

from kvlab.events import EVENTS, Event
from kvlab.recording.columns import SCHEMA
from kvlab.recording.extremes import largest, smallest

FREE_TEXT = ("text", "prompt_tokens", "message", "call_site", "words", "at")
"""Columns of text that seldom repeats."""

_SMALL = 2**31
_FIELDS = {kind: ("kind", *(item.name for item in fields(cls))) for kind, cls in EVENTS.items()}


class EventTables:
    """The events of a recording, a table a kind."""

    __slots__ = ("_tables",)

    def __init__(self, parts: Iterable[pl.DataFrame]) -> None:
        """Take the events out of `parts`, tables with columns of `SCHEMA`, `kind` and `seq` among them, one after another."""
        pieces: dict[str, list[pl.DataFrame]] = {}
        for part in parts:
            columns = {column.name: column for column in part.get_columns() if column.null_count() < part.height}
            rows = part.get_column("kind").to_frame().with_row_index("row").group_by("kind", maintain_order=True).agg("row")
            for kind, places in zip(rows.get_column("kind"), rows.get_column("row"), strict=True):
                names = [name for name in _FIELDS.get(kind, columns) if name in columns and name != "kind"]
                pieces.setdefault(kind, []).append(_packed(pl.DataFrame([columns[name] for name in names])[places]))
        self._tables = {kind: _joined(pieces.pop(kind)) for kind in list(pieces)}

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(table.height for table in self._tables.values())

    @property
    def first(self) -> int:
        """The first event's `seq`; -1 when there is none."""
        return min((int(table.item(0, "seq")) for table in self._tables.values()), default=-1)

    @property
    def last(self) -> int:
        """The last event's `seq`; -1 when there is none."""
        return max((int(table.item(-1, "seq")) for table in self._tables.values()), default=-1)

    def has(self, *kinds: type[Event]) -> bool:
        """Return whether there is an event of one of some kinds."""
        return any(kind.kind in self._tables for kind in kinds)

    def rows(self, *kinds: type[Event], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return events of some kinds (of all when none is given), a row an event, in the order of `seq`, with the types of `SCHEMA`.

        Args:
            kinds: Which events.
            columns: Which columns; those of the kinds when none are named. What an event's kind does not have is null.
        """
        wanted = [kind.kind for kind in kinds] if kinds else list(self._tables)
        if columns is None:
            known = set[str]().union(*(_FIELDS.get(kind, SCHEMA) for kind in wanted))
            columns = [name for name in SCHEMA if name in known]
        tables = {kind: self._tables[kind] for kind in wanted if kind in self._tables}
        if not tables:
            return pl.DataFrame(schema={name: SCHEMA[name] for name in columns})
        order = pl.concat([_seqs(table) for table in tables.values()]).arg_sort() if len(tables) > 1 else None
        held = {"kind", *(name for table in tables.values() for name in table.columns)}
        # a column after another: only one is held twice
        made = pl.DataFrame([_column(name, tables, order) for name in columns if name in held] or [_column("kind", tables, order)])
        # a column that nothing holds takes no room
        return made.select(pl.col(name) if name in held else pl.lit(None, SCHEMA[name]).alias(name) for name in columns)

    def wide(self) -> pl.DataFrame:
        """Return all events as one table with `SCHEMA`."""
        return self.rows(columns=list(SCHEMA))

    def between(self, first: int, end: int) -> EventTables:
        """Return the events whose `seq` is in [first, end), without a copy of them."""
        found = EventTables(())
        for kind, table in self._tables.items():
            seq = table.get_column("seq")
            start, stop = int(seq.search_sorted(first)), int(seq.search_sorted(end))
            if stop > start:
                found._tables[kind] = table.slice(start, stop - start)
        return found

    def slices(self, rows: int) -> Iterator[EventTables]:
        """Yield the events in order, so many at a time."""
        if self._tables:
            seqs = pl.concat([_seqs(table) for table in self._tables.values()]).sort()
            for first, end in pairwise([*seqs.gather_every(rows), self.last + 1]):
                yield self.between(first, end)

    @property
    def requests(self) -> pl.Series:
        """The numbers of all requests that have an event, in order."""
        found = [table.get_column("request").unique().cast(pl.Int64) for table in self._tables.values() if "request" in table.columns]
        numbers = pl.concat([pl.Series("request", [], pl.Int64), *found])
        return numbers.filter(numbers > 0).unique().sort()

    def end_of(self, request: int) -> int | None:
        """Return the last event (`seq`) of a request; None when it has none."""
        ends = [table.filter(pl.col("request") == request).get_column("seq") for table in self._tables.values() if "request" in table.columns]
        return max((int(seqs[-1]) for seqs in ends if len(seqs)), default=None)

    def request_at(self, seq: int) -> int:
        """Return the request of the last event up to `seq`; 0 outside any and before the first event."""
        found = (-1, 0)
        for table in self._tables.values():
            place = int(table.get_column("seq").search_sorted(seq, side="right"))
            if place and "request" in table.columns:
                found = max(found, (int(table.item(place - 1, "seq")), int(table.item(place - 1, "request") or 0)))
        return found[1]

    def numbered(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return `events` in the order of `seq`, with the last request up to each as `after`; 0 before the first request."""
        found = events.sort("seq").with_columns(pl.lit(-1, pl.Int64).alias("_at"), pl.lit(0, pl.Int64).alias("after"))
        for table in self._tables.values():
            if "request" in table.columns:
                own = table.select(_at_here=pl.col("seq").cast(pl.Int64), _here=pl.col("request").cast(pl.Int64)).filter(pl.col("_here") > 0)
                joined = found.join_asof(own, left_on="seq", right_on="_at_here", coalesce=False)
                later = (pl.col("_at_here") > pl.col("_at")).fill_null(value=False)
                found = joined.with_columns(
                    pl.when(later).then("_at_here").otherwise("_at").alias("_at"), pl.when(later).then("_here").otherwise("after").alias("after")
                ).drop("_at_here", "_here")
        return found.drop("_at")

    def names(self, column: str) -> pl.Series:
        """Return a column of text of all events that have it, a kind after another, without nulls."""
        held = [table.get_column(column).drop_nulls().cast(pl.String) for table in self._tables.values() if column in table.columns]
        return pl.concat([pl.Series(column, [], pl.String), *held])


def _seqs(table: pl.DataFrame) -> pl.Series:
    return table.get_column("seq").cast(pl.Int64)


def _packed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that hold something, each in the least room that loses nothing."""
    found: list[pl.Series] = []
    for column in rows.get_columns():
        if column.null_count() == rows.height:
            continue
        if column.dtype == pl.Int64 and smallest(column) >= -_SMALL and largest(column) < _SMALL:
            found.append(column.cast(pl.Int32))
        else:
            found.append(column.cast(pl.Categorical) if column.dtype == pl.String and column.name not in FREE_TEXT else column)
    return pl.DataFrame(found)


def _joined(pieces: list[pl.DataFrame]) -> pl.DataFrame:
    table = pl.concat(pieces, how="diagonal_relaxed", rechunk=True)
    return table if table.get_column("seq").is_sorted() else table.sort("seq", maintain_order=True)


def _column(name: str, tables: dict[str, pl.DataFrame], order: pl.Series | None) -> pl.Series:
    """Return a column of some tables, one after another, in an order."""
    pieces: list[pl.Series] = []
    for kind, table in tables.items():
        if name in table.columns:
            pieces.append(table.get_column(name).cast(SCHEMA[name]))
        else:
            pieces.append(pl.Series(name, [kind if name == "kind" else None], SCHEMA[name]).new_from_index(0, table.height))
    whole = pl.concat(pieces) if len(pieces) > 1 else pieces[0]
    return whole if order is None else whole.gather(order)
