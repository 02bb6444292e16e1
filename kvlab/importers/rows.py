"""Rows: events of an import that wait to be written, by kind and as plain values: an object for each would cost a log of millions five times the time.

Invariants: `seq` counts from 0 without a gap; a value that is not known is None; at most about `MOST` rows wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Protocol

import polars as pl

from kvlab.events import EVENTS, BytesRead, Event
from kvlab.recording import SCHEMA

MOST = 50_000
"""Rows that may wait."""

READING = tuple(item.name for item in fields(BytesRead) if item.name not in {*(one.name for one in fields(Event)), "phase"})
"""The figures of a whole reading of bytes."""

FIELDS: dict[str, tuple[str, ...]] = {
    "loaded": ("weights", "active", "pool"),
    "request_began": ("label", "tokens"),
    "matched": ("tokens", "matched", "cached", "left", "reason", "layer"),
    "node_born": ("node", "parent", "start", "end", "user"),
    "node_split": ("node", "head", "start", "end"),
    "node_merged": ("node", "head", "start", "end"),
    "node_removed": ("node",),
    "frontier_moved": ("node",),
    "evicted": ("node", "start", "end", "state", "freed"),
    "snapshot_taken": ("snapshot", "group", "layer", "start", "end", "state", "counted", "retained", "call_site"),
    "snapshot_placed": ("snapshot", "node"),
    "snapshot_owned": ("snapshot", "counted", "retained", "call_site"),
    "snapshot_closed": ("snapshot",),
    "paged_in": ("node", "start", "end"),
    "paged_out": ("node", "start", "end"),
    "captured": ("end",),
    "chunk_ran": ("start", "end", "seconds"),
    "warned": ("message",),
    "bytes_read": ("phase", "live_logical", "counted", "pool", "active", "peak", "nodes"),
    "bytes_told": ("source", "phase", *READING),
    "request_closed": ("generated", "stop", "prefill_s", "decode_s", "peak", "ttft_s"),
    "observed": ("gauge", "label", "observed", "number", "words", "unit", "step", "pid", "at"),
    "listed": ("count", "model", "digest", "context", "label", "at"),
    "runner_changed": ("state", "model", "pid", "port"),
    "process_seen": ("pid", "ppid", "label", "model", "at"),
    "served": ("label", "status", "seconds"),
    "life_sign": ("state", "model", "pid", "seconds", "message"),
    "lines_counted": ("label", "understood", "count", "line"),
}
"""What an importer gives of each kind of event, in this order; the other fields are not known."""

_STAMPS = frozenset({"seq", "t", "request", "source"})
_KINDS = {"bytes_told": "bytes_read"}
"""What a kind of row is called as an event, where that differs: a whole reading, and its source."""


class Tables(Protocol):
    """What takes tables of events: a Recorder."""

    def write_table(self, table: pl.DataFrame) -> None:
        """Store many events at once."""
        ...


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
        """Yield the events that were kept since the last call. What a text does not give is None, which is not 0."""
        tables, self.tables = self.tables, []
        for table in tables:
            for row in table.iter_rows(named=True):
                cls = EVENTS[row["kind"]]
                values: dict[str, Any] = {item.name: row.get(item.name) for item in fields(cls) if item.name not in _STAMPS}
                yield cls(request=row["request"], **values)


class Rows:
    """Rows on their way into a recording.

    Attributes:
        t: Seconds since the first moment that the source names; the next rows carry it.
        request: The running request; 0 outside any.
        requests: How many requests began.
        highest: The highest number that a request has.
        seq: The next row's place.
    """

    __slots__ = ("_recorder", "_source", "_waiting", "highest", "request", "requests", "seq", "t")

    def __init__(self, recorder: Tables | None, source: str) -> None:
        """Write into a recorder, or nowhere."""
        self._recorder = recorder
        self._source = source
        # of each kind the values of all its rows, one row after another
        self._waiting: defaultdict[str, list[Any]] = defaultdict(list)
        self.t = 0.0
        self.request = self.requests = self.highest = self.seq = 0

    def add(self, kind: str, *values: Any) -> None:
        """Add a row of `kind` with the values of its `FIELDS`, in the running request."""
        # as in add_to: a call less for every row of a log of millions
        self._waiting[kind].extend((self.seq, self.t, self.request, *values))
        self.seq += 1
        if not self.seq % MOST:
            self.flush()

    def add_to(self, request: int, kind: str, values: tuple[Any, ...]) -> None:
        """Add a row to `request`."""
        self._waiting[kind].extend((self.seq, self.t, request, *values))
        self.seq += 1
        if not self.seq % MOST:
            self.flush()

    def began(self, label: str | None, tokens: int | None) -> int:
        """Begin the next request and return its number."""
        self.requests += 1
        self.highest = self.request = max(self.requests, self.highest + 1)
        self.add("request_began", label, tokens)
        return self.request

    def flush(self) -> None:
        """Write what waits as one part.

        Raises:
            UnreadableInput: the part cannot be written.
        """
        waiting, self._waiting = self._waiting, defaultdict(list)
        if self._recorder is not None and waiting:
            whole = pl.concat([_table(kind, values) for kind, values in waiting.items()], how="diagonal").sort("seq")
            source = pl.lit(self._source).alias("source")
            self._recorder.write_table(whole.with_columns(pl.col("source").fill_null(source) if "source" in whole.columns else source))


def _table(kind: str, values: list[Any]) -> pl.DataFrame:
    names = ("seq", "t", "request", *FIELDS[kind])
    columns = [pl.Series(name, values[place :: len(names)], dtype=SCHEMA[name]) for place, name in enumerate(names)]
    return pl.DataFrame([*columns, pl.Series("kind", [_KINDS.get(kind, kind)]).new_from_index(0, len(columns[0]))])


class Output:
    """Rows of what was observed at a moment.

    Attributes:
        rows: The rows.
        at: The moment as it was found; "" before one is named.
        model: The first model that was named.
    """

    __slots__ = ("at", "model", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at = ""
        self.model = ""

    def figure(self, gauge: str, count: int, *, unit: str, step: int | None, label: str = "", pid: int | None = None) -> None:
        """Write observed bytes; `step` is the bytes between this print and the next one that differs."""
        self.rows.add("observed", gauge, label[:200], count, None, None, unit, step, pid, self.at)

    def number(self, gauge: str, number: float, *, unit: str = "", label: str = "") -> None:
        """Write an observed figure that is not bytes."""
        self.rows.add("observed", gauge, label[:200], None, number, None, unit, None, None, self.at)

    def words(self, gauge: str, words: str, *, label: str = "") -> None:
        """Write what was observed in words."""
        self.rows.add("observed", gauge, label[:200], None, None, words[:120], "", None, None, self.at)
