"""Moment: the trie, its snapshots and the bytes as they were right after one event."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from kvlab.display import Rich
from kvlab.events import BytesRead, ChunkRan, Event, FrontierMoved
from kvlab.recording import fold_nodes
from kvlab.recording.by_kind import EventTables
from kvlab.recording.fold_state import RANKED, buffers_at, fold_buffers, fold_ranks, with_ranks
from kvlab.recording.readings import observed

_READING = [item.name for item in fields(BytesRead) if item.name not in {event_field.name for event_field in fields(Event)}]

NODE_SCHEMA: dict[str, pl.DataType] = (
    fold_nodes.SCHEMA
    | {
        "active": pl.Boolean(),
        "counted": pl.Int64(),
        "lazy": pl.Int64(),
        "owned": pl.Int64(),
        "view": pl.Int64(),
    }
    | RANKED
)
"""The columns of a moment's `nodes`."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment(Rich):
    """What there was right after event `seq`.

    Attributes:
        seq: The event.
        request: The request it belongs to; 0 outside any.
        frontier: The node at which the active path ends; None before the first `FrontierMoved`.
        nodes: The nodes alive, with `NODE_SCHEMA`: as in the table `nodes`, and whether they are on the active path, the bytes
            their snapshots count, how many of these are lazy, owned or views, and what decides when eviction takes them (`fold_state.RANKED`).
        spans: The snapshots alive, with the columns of the table `spans`; `node` is null while one is not attached.
        buffers: The live buffers, a row a layer group, with `fold_state.BUFFERS`.
        bytes: The last observed reading up to here: the fields of `BytesRead` and its `seq`; {} when there was none, and during a prefill whose readings
            the recording leaves out.
    """

    seq: int
    request: int
    frontier: int | None
    nodes: pl.DataFrame
    spans: pl.DataFrame
    buffers: pl.DataFrame
    bytes: dict[str, Any]

    def __repr__(self) -> str:
        active = int(self.nodes["active"].sum())
        return (
            f"Moment(seq={self.seq}, request={self.request}: {self.nodes.height} nodes, {active} on the active path to {self.frontier}; "
            f"{self.spans.height} snapshots, {int(self.nodes['counted'].sum()):,} bytes counted"
            f"{'' if self.nodes['protection'].count() or not self.nodes.height else '; the order of eviction was not recorded'})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """What a moment needs of a recording's events, taken out of them once.

    Attributes:
        events: All of them.
        moves: seq and node of every `FrontierMoved`.
        readings: seq and the fields of every observed `BytesRead`.
        unread: seq of every `ChunkRan` that no reading follows, in a recording that leaves these out.
        ranks: Changes of what decides when eviction takes a node (`fold_state`).
        buffers: Changes of live buffers (`fold_state`).
    """

    events: EventTables
    moves: pl.DataFrame
    readings: pl.DataFrame
    unread: pl.DataFrame
    ranks: pl.DataFrame
    buffers: pl.DataFrame

    @classmethod
    def of(cls, events: EventTables, *, unread: bool = False) -> Past:
        """Take it out of a recording's events; `unread` when readings during prefill are left out of them."""
        moves = events.rows(FrontierMoved, columns=("seq", "node"))
        chunks = events.rows(ChunkRan, columns=("seq",)) if unread else pl.DataFrame(schema={"seq": pl.Int64()})
        return cls(events, moves, observed(events, ("seq", *_READING)), chunks, fold_ranks(events), fold_buffers(events))

    def last_reading(self, seq: int | None = None) -> dict[str, Any]:
        """Return the last observed reading up to `seq` (or of all); {} when there is none."""
        found, chunk = _last(self.readings, seq) or {}, _last(self.unread, seq)
        return {} if chunk and found and chunk["seq"] > found["seq"] else found


def moment(seq: int, past: Past, nodes: pl.DataFrame, spans: pl.DataFrame) -> Moment:
    """Return the moment right after event `seq`, from a recording's tables; `seq` is within them."""
    moved = _last(past.moves, seq)
    frontier: int | None = moved["node"] if moved else None
    spans_now = _alive(spans, seq)
    return Moment(
        seq=seq,
        request=past.events.request_at(seq),
        frontier=frontier,
        nodes=with_ranks(_with_snapshots(_with_active(_alive(nodes, seq), frontier), spans_now), past.ranks, seq),
        spans=spans_now,
        buffers=buffers_at(past.buffers, seq),
        bytes=past.last_reading(seq),
    )


def _last(table: pl.DataFrame, seq: int | None) -> dict[str, Any] | None:
    """Return the last row up to `seq` of a table in the order of `seq`; None when there is none."""
    rows = table.height if seq is None else int(table.get_column("seq").search_sorted(seq, side="right"))
    return table.row(rows - 1, named=True) if rows else None


def _alive(versions: pl.DataFrame, seq: int) -> pl.DataFrame:
    return versions.filter((pl.col("born") <= seq) & (pl.col("died").is_null() | (pl.col("died") > seq)))


def _with_active(nodes: pl.DataFrame, frontier: int | None) -> pl.DataFrame:
    parents: dict[int, int | None] = dict(nodes.select("node", "parent").iter_rows())
    path: set[int] = set()
    node = frontier
    # A node seen twice ends the walk: a damaged recording must not hang it.
    while node in parents and node not in path:
        path.add(node)
        node = parents[node]
    return nodes.with_columns(pl.Series("active", [name in path for name in nodes["node"]], dtype=pl.Boolean))


def _with_snapshots(nodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    states = [(pl.col("state") == state).sum().alias(state) for state in ("lazy", "owned", "view")]
    sums = spans.group_by("node").agg(pl.col("counted").sum(), *states)
    joined = nodes.join(sums, on="node", how="left", maintain_order="left")
    return joined.with_columns(pl.col("counted", "lazy", "owned", "view").fill_null(0).cast(pl.Int64))
