"""Looks: what was seen at each moment from outside: which models were listed, which processes held them, and how much.

A probe ends each of its looks itself; in outputs of tools that were pasted one after another, what stands at one moment is one look.
A process that started another one that was seen is the server, which stays when a model is unloaded: it holds none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from kvlab.events import Listed, Observed, ProcessSeen
from kvlab.recording import Recording

END_OF_LOOK = "processes"
"""The gauge that ends a probe's look."""

HELD = "footprint"
"""The gauge of what a process holds; rss is not taken for it, as on a Mac it leaves out what Metal holds."""


@dataclass(slots=True)
class Look:
    """One moment.

    Attributes:
        t: Seconds since the recording began.
        models: Models that were listed; None when nobody asked.
        pids: Processes that hold models.
        size: Sum of the sizes listed, in bytes; None when none was.
        held: Bytes of these processes; None when not read.
        swap: Swap in use, in bytes; None when not read.
        swapped: Bytes that were swapped out since the look before; None when not read.
        seq: The last event of it.
    """

    t: float = 0.0
    models: frozenset[str] | None = None
    pids: frozenset[int] = field(default_factory=frozenset[int])
    size: int | None = None
    held: int | None = None
    swap: int | None = None
    swapped: int | None = None
    seq: int = 0

    def equals(self, other: Look, within: int) -> bool:
        """Return whether nothing moved between two looks: the same list and processes, bytes within `within`."""
        same = self.models == other.models and self.pids == other.pids
        pairs = ((self.size, other.size), (self.held, other.held))
        return same and all(one is None or two is None or abs(one - two) <= within for one, two in pairs)


def looks(recording: Recording) -> list[Look]:
    """Return the looks of a recording in order."""
    kinds = [Listed.kind, Observed.kind, ProcessSeen.kind]
    rows = recording.events.filter(pl.col("kind").is_in(kinds)).select("seq", "t", "kind", "count", "model", "gauge", "observed", "pid", "ppid")
    seen = rows.filter(pl.col("kind") == ProcessSeen.kind)
    parents = set(seen.get_column("ppid").drop_nulls()) & set(seen.get_column("pid").drop_nulls())
    rows = rows.filter(~pl.col("pid").is_in(list(parents)).fill_null(value=False))
    ended = bool((recording.observed.get_column("gauge") == END_OF_LOOK).any())
    return [look for look in _looks(rows, ended=ended) if look.models is not None or look.pids or look.held is not None or look.swap is not None]


def _looks(rows: pl.DataFrame, *, ended: bool) -> Iterator[Look]:
    now: Look | None = None
    for row in rows.iter_rows(named=True):
        if now is not None and not ended and row["t"] != now.t:
            yield now
            now = None
        now = now or Look()
        now.t, now.seq = row["t"], row["seq"]
        _take(now, row["kind"], row)
        if ended and row["gauge"] == END_OF_LOOK:
            yield now
            now = None
    if now is not None:
        yield now


def _take(look: Look, kind: str, row: dict[str, object]) -> None:
    if kind == Listed.kind:
        named = {str(row["model"])} if row["count"] else set[str]()
        look.models = (look.models or frozenset()) | named
    elif kind == ProcessSeen.kind:
        if isinstance(row["pid"], int):
            look.pids |= {row["pid"]}
    elif isinstance(value := row["observed"], int):
        gauge = row["gauge"]
        if gauge == "size":
            look.size = (look.size or 0) + value
        elif gauge == HELD:
            look.held = (look.held or 0) + value
        elif gauge == "swap_used":
            look.swap = value
        elif gauge == "swapped_out_since":
            look.swapped = value
