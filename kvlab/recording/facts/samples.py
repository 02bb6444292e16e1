"""Samples: what was seen at each moment from outside: which models were listed, which processes held them, and how much.

A probe ends each of its samples itself; in outputs of tools that were pasted one after another, what is of one moment is one sample, up to a command
that was sent to the server, or to a second list. A process that started another one that was seen is the server, which stays when a model is unloaded:
it holds none. Where tools name the models of processes, those without one hold none either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from kvlab.events import LifeSign, Listed, Observed, ProcessSeen
from kvlab.recording.by_kind import EventTables

END_OF_SAMPLE = "processes"
"""The gauge that ends a probe's sample."""

HELD = "footprint"
"""The gauge of what a process holds; rss is not taken for it, as on a Mac it leaves out what Metal holds."""


@dataclass(slots=True)
class Sample:
    """One moment.

    Attributes:
        t: Seconds since the recording began.
        models: Models that were listed; None when the list was not read.
        pids: Processes that hold models.
        size: Sum of the sizes listed, in bytes; None when none was.
        held: Bytes of these processes; None when not read.
        swap: Swap in use, in bytes; None when not read.
        named: What its processes hold is known by the models that they were started with.
    """

    t: float = 0.0
    models: frozenset[str] | None = None
    pids: frozenset[int] = field(default_factory=frozenset[int])
    size: int | None = None
    held: int | None = None
    swap: int | None = None
    named: bool = False

    def equals(self, other: Sample, within: int) -> bool:
        """Return whether nothing moved between two samples: the same list and processes, bytes within `within`."""
        same = self.models == other.models and self.pids == other.pids
        pairs = ((self.size, other.size), (self.held, other.held))
        return same and all(one is None or two is None or abs(one - two) <= within for one, two in pairs)


def samples_of(events: EventTables) -> tuple[Sample, ...]:
    """Return the samples of a recording's events in order."""
    kinds = (LifeSign, Listed, Observed, ProcessSeen)
    rows = events.rows(*kinds, columns=("t", "kind", "count", "model", "gauge", "observed", "pid", "ppid"))
    seen = rows.filter(pl.col("kind") == ProcessSeen.kind)
    servers = set(seen.get_column("ppid").drop_nulls()) & set(seen.get_column("pid").drop_nulls())
    rows = rows.filter(~pl.col("pid").is_in(list(servers)).fill_null(value=False))
    ended = bool((rows.get_column("gauge") == END_OF_SAMPLE).any())
    if not ended and (seen.get_column("model") != "").any():
        rows = rows.filter(((pl.col("kind") != ProcessSeen.kind) | (pl.col("model") != "")).fill_null(value=False))
    return tuple(one for one in _samples(rows, ended=ended) if one.models is not None or one.pids or one.held is not None or one.swap is not None)


def _samples(rows: pl.DataFrame, *, ended: bool) -> Iterator[Sample]:
    now: Sample | None = None
    before = ""
    for row in rows.iter_rows(named=True):
        second_list = row["kind"] == Listed.kind and now is not None and now.models is not None and before not in (Listed.kind, Observed.kind)
        if now is not None and not ended and (row["t"] != now.t or row["kind"] == LifeSign.kind or second_list):
            yield now
            now = None
        before = row["kind"]
        if row["kind"] == LifeSign.kind:
            continue
        now = now or Sample()
        now.t = row["t"]
        _take(now, row["kind"], row)
        if ended and row["gauge"] == END_OF_SAMPLE:
            yield now
            now = None
    if now is not None:
        yield now


def _take(sample: Sample, kind: str, row: dict[str, object]) -> None:
    if kind == Listed.kind:
        named = {str(row["model"])} if row["count"] else set[str]()
        sample.models = (sample.models or frozenset()) | named
    elif kind == ProcessSeen.kind:
        if isinstance(row["pid"], int):
            sample.pids |= {row["pid"]}
            sample.named = bool(row["model"])
    elif isinstance(value := row["observed"], int):
        if row["gauge"] == "size":
            sample.size = (sample.size or 0) + value
        elif row["gauge"] == HELD:
            sample.held = (sample.held or 0) + value
        elif row["gauge"] == "swap_used":
            sample.swap = value
