"""What decides evictions at a moment: why nodes are protected, when they were used, and in which order eviction would take the others."""

from __future__ import annotations

import polars as pl

from kvlab.events import NodeRanked

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


def fold_ranks(events: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each change of what decides when eviction takes a node: seq, node, `KEYS` and the columns of `RANKED` but `rank`, by `seq`."""
    needed = events.select("kind", "seq", "node", "protection", "used", "uses", *KEYS)
    changes = needed.filter(pl.col("kind") == NodeRanked.kind).drop("kind")
    # each use has a time of its own on the cache's clock: what is as recent without a use of its own names the same event
    return changes.with_columns(used_at=pl.when(pl.col("used") > 0).then(pl.col("seq").min().over("used")))


def with_ranks(nodes: pl.DataFrame, ranks: pl.DataFrame, seq: int) -> pl.DataFrame:
    """Return the nodes alive at event `seq` with the columns of `RANKED`, from `fold_ranks`."""
    known = ranks.head(int(ranks.get_column("seq").search_sorted(seq, side="right"))).unique("node", keep="last").drop("seq")
    joined = nodes.join(known, on="node", how="left", maintain_order="left")
    goes = (pl.col("protection") == "") & pl.col("first").is_not_null()
    place = joined.filter(goes).sort(*KEYS, "node").select("node", rank=pl.int_range(1, pl.len() + 1))
    return joined.join(place, on="node", how="left", maintain_order="left").select(*nodes.columns, *(pl.col(name).cast(kind) for name, kind in RANKED.items()))
