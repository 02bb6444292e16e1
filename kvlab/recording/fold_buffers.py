"""The live buffers at a moment: how many tokens each layer group has seen, which of them it holds, how many it has room for, and its bytes."""

from __future__ import annotations

import polars as pl

from kvlab.events import BufferChanged, ChunkRan, Event, Matched, TokenOut

SCHEMA: dict[str, pl.DataType] = {
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

_MOVES = {Matched.kind: "cached", ChunkRan.kind: "end", TokenOut.kind: "offset", BufferChanged.kind: "offset"}


def offset_after(event: Event, before: int) -> int:
    """Return how many tokens the live buffers hold after an event, those of draft layers excepted; `before` it they held so many."""
    if getattr(event, "layer", "") == DRAFT and event.kind == BufferChanged.kind:
        return before
    offset: int | None = getattr(event, _MOVES[event.kind]) if event.kind in _MOVES else None
    return before if offset is None else offset


def fold_buffers(events: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each change of live buffers: seq and the columns of `SCHEMA`, by `seq`; of a change of all but draft layers `group` is null."""
    needed = events.select("kind", "seq", "group", "layer", "offset", "start", "capacity", "retained", "cached", "end")
    moves = needed.filter(pl.col("kind").is_in(list(_MOVES)))
    changed = pl.col("kind") == BufferChanged.kind
    offset = pl.coalesce(*(pl.when(pl.col("kind") == kind).then(name) for kind, name in _MOVES.items()))
    own = [pl.when(changed).then(name).alias(name) for name in ("group", "layer", "start", "capacity", "retained")]
    return moves.select("seq", *own, offset=offset).drop_nulls("offset").select("seq", *SCHEMA)


def buffers_at(changes: pl.DataFrame, seq: int) -> pl.DataFrame:
    """Return the live buffers right after event `seq`, with `SCHEMA`, from `fold_buffers`."""
    past = changes.head(int(changes.get_column("seq").search_sorted(seq, side="right")))
    own = past.drop_nulls("group").unique("group", keep="last").sort("group")
    common = past.filter(pl.col("group").is_null()).tail(1)
    moved = pl.lit(common.item(0, "offset") if common.height else None, pl.Int64())
    since = (pl.lit(common.item(0, "seq") if common.height else -1) > pl.col("seq")) & (pl.col("layer") != DRAFT)
    offset = pl.when(since).then(moved).otherwise("offset")
    return own.with_columns(offset=offset).with_columns(start=pl.max_horizontal("start", pl.col("offset") - pl.col("capacity"))).select(*SCHEMA)
