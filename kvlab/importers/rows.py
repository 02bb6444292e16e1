"""Rows: events of an import that wait to be written, by kind and as plain tuples: an object for each would cost a log of millions five times the time.

Invariants: `seq` counts from 0 without a gap; a value that is not known is None; at most about `MOST` rows wait.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol

import polars as pl

from kvlab.events import BytesRead, Event
from kvlab.recording import SCHEMA

MOST = 50_000
"""Rows that may wait."""

READING = tuple(item.name for item in fields(BytesRead) if item.name not in {*(one.name for one in fields(Event)), "phase"})
"""What a whole reading of bytes tells."""

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
"""What an importer tells of each kind of event, in this order; the other fields are not known."""

_KINDS = {"bytes_told": "bytes_read"}
"""What a kind of row is called as an event, where that differs: a reading that is told whole, and by whom."""


class Tables(Protocol):
    """What takes tables of events: a Recorder."""

    def write_table(self, table: pl.DataFrame) -> None:
        """Store many events at once."""
        ...


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

    def __init__(self, recorder: Tables, source: str) -> None:
        self._recorder = recorder
        self._source = source
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        self.t = 0.0
        self.request = 0
        self.requests = 0
        self.highest = 0
        self.seq = 0

    def add(self, kind: str, *values: Any) -> None:
        """Add a row of `kind` with the values of its `FIELDS`, in the running request."""
        # as in add_to: a call less for every row of a log of millions
        seq = self.seq
        self.seq = seq + 1
        rows = self._waiting.get(kind)
        if rows is None:
            rows = self._waiting[kind] = []
        rows.append((seq, self.t, self.request, *values))
        if not self.seq % MOST:
            self.flush()

    def add_to(self, request: int, kind: str, values: tuple[Any, ...]) -> None:
        """Add a row to `request`."""
        seq = self.seq
        self.seq = seq + 1
        rows = self._waiting.get(kind)
        if rows is None:
            rows = self._waiting[kind] = []
        rows.append((seq, self.t, request, *values))
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
        tables = [_table(kind, rows) for kind, rows in self._waiting.items()]
        self._waiting = {}
        if tables:
            whole = pl.concat(tables, how="diagonal").sort("seq")
            source = pl.lit(self._source).alias("source")
            self._recorder.write_table(whole.with_columns(pl.col("source").fill_null(source) if "source" in whole.columns else source))


def _table(kind: str, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    names = ("seq", "t", "request", *FIELDS[kind])
    columns = [pl.Series(name, column, dtype=SCHEMA[name]) for name, column in zip(names, zip(*rows, strict=True), strict=True)]
    return pl.DataFrame(columns).with_columns(pl.lit(_KINDS.get(kind, kind)).alias("kind"))
