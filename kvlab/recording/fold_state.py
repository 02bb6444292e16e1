"""What a cache goes by at a moment: why nodes are protected and in which order eviction would take the others, and what the live buffers hold."""

from __future__ import annotations

import polars as pl

from kvlab.events import BufferChanged, ChunkRan, Event, Matched, NodeRanked, TokenOut
from kvlab.recording.by_kind import EventTables

RANKED: dict[str, pl.DataType] = {
    "protection": pl.String(),
    "used": pl.Int64(),
    "uses": pl.Int64(),
    "used_at": pl.Int64(),
    "rank": pl.Int64(),
}
"""Columns of a moment's `nodes`: a reason of `kvlab.events.PROTECTIONS` ("" when eviction may take the node), the clock of its last use, how often it was
used, the event (`seq`) that recorded that use, and its place in the order of eviction, from 1. All null when the recording does not have them; `rank` also
of what is protected, and in a store of whole entries."""

KEYS = ("first", "second", "third")


def fold_ranks(events: EventTables) -> pl.DataFrame:
    """Return a row for each change of what decides when eviction takes a node: seq, node, `KEYS` and the columns of `RANKED` but `rank`, by `seq`."""
    changes = events.rows(NodeRanked, columns=("seq", "node", "protection", "used", "uses", *KEYS))
    # each use has a time of its own on the cache's clock: what is as recent without a use of its own names the same event
    return changes.with_columns(used_at=pl.when(pl.col("used") > 0).then(pl.col("seq").min().over("used")))


def with_ranks(nodes: pl.DataFrame, ranks: pl.DataFrame, seq: int) -> pl.DataFrame:
    """Return the nodes alive at event `seq` with the columns of `RANKED`, from `fold_ranks`."""
    known = ranks.head(int(ranks.get_column("seq").search_sorted(seq, side="right"))).unique("node", keep="last").drop("seq")
    joined = nodes.join(known, on="node", how="left", maintain_order="left")
    goes = (pl.col("protection") == "") & pl.col("first").is_not_null()
    place = joined.filter(goes).sort(*KEYS, "node").select("node", rank=pl.int_range(1, pl.len() + 1))
    return joined.join(place, on="node", how="left", maintain_order="left").select(*nodes.columns, *(pl.col(name).cast(kind) for name, kind in RANKED.items()))


BUFFERS: dict[str, pl.DataType] = {
    "group": pl.Int64(),
    "layer": pl.String(),
    "offset": pl.Int64(),
    "start": pl.Int64(),
    "capacity": pl.Int64(),
    "retained": pl.Int64(),
}
"""The columns of a moment's `buffers`, a row a layer group: it has seen `offset` tokens and holds [start, offset) of them, in a buffer of `capacity` tokens
(0 of a recurrent state) that retains so many bytes. No rows when the recording does not have them."""

DRAFT = "draft_kv"
"""The kind of layers that are written after the others: only `BufferChanged` moves them."""

_MOVES: dict[type[Event], str] = {Matched: "cached", ChunkRan: "end", TokenOut: "offset", BufferChanged: "offset"}


def offset_after(event: Event, before: int) -> int:
    """Return how many tokens the live buffers hold after an event, those of draft layers excepted; `before` it they held so many."""
    if getattr(event, "layer", "") == DRAFT and event.kind == BufferChanged.kind:
        return before
    offset: int | None = getattr(event, _MOVES[type(event)]) if type(event) in _MOVES else None
    return before if offset is None else offset


def fold_buffers(events: EventTables) -> pl.DataFrame:
    """Return a row for each change of live buffers: seq and the columns of `BUFFERS`, by `seq`; of a change of all but draft layers `group` is null."""
    if not events.has(BufferChanged):
        return pl.DataFrame(schema={"seq": pl.Int64(), **BUFFERS})
    moves = events.rows(*_MOVES, columns=("kind", "seq", "group", "layer", "offset", "start", "capacity", "retained", "cached", "end"))
    changed = pl.col("kind") == BufferChanged.kind
    offset = pl.coalesce(*(pl.when(pl.col("kind") == moved.kind).then(name) for moved, name in _MOVES.items()))
    own = [pl.when(changed).then(name).alias(name) for name in ("group", "layer", "start", "capacity", "retained")]
    return moves.select("seq", *own, offset=offset).drop_nulls("offset").select("seq", *BUFFERS)


def buffers_at(changes: pl.DataFrame, seq: int) -> pl.DataFrame:
    """Return the live buffers right after event `seq`, with `BUFFERS`, from `fold_buffers`."""
    past = changes.head(int(changes.get_column("seq").search_sorted(seq, side="right")))
    own = past.drop_nulls("group").unique("group", keep="last").sort("group")
    common = past.filter(pl.col("group").is_null()).tail(1)
    moved = pl.lit(common.item(0, "offset") if common.height else None, pl.Int64())
    since = (pl.lit(common.item(0, "seq") if common.height else -1) > pl.col("seq")) & (pl.col("layer") != DRAFT)
    offset = pl.when(since).then(moved).otherwise("offset")
    return own.with_columns(offset=offset).with_columns(start=pl.max_horizontal("start", pl.col("offset") - pl.col("capacity"))).select(*BUFFERS)
