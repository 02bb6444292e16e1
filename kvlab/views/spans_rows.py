"""Snapshots as spans in lanes: the middle form between a recording and the chart of spans by layer.

Invariants: two snapshots of one layer group that exist at the same moment and overlap in positions lie in different lanes;
a snapshot keeps its lane for life, so nothing jumps when time moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

ROWS = 2500
"""A chart takes at most this many intervals, the latest."""

FAR = 2**53
"""`died` of what is alive at the last moment: JavaScript's largest exact whole number."""


def alive(parameter: str) -> str:
    """Return the Vega filter for what exists at the moment that `parameter` holds."""
    return f"datum.born <= {parameter} && {parameter} < datum.died"


def group_labels(shape: dict[str, Any] | None) -> dict[int, str]:
    """Return a name for each layer group of a shape (as `Shape.to_dict` gives it), such as `layers 0-29 (kv x30)` or `layer 3 (kv)`."""
    groups: list[dict[str, Any]] = (shape or {}).get("groups", [])
    return {place: _label(group["kind"], group["layers"]) for place, group in enumerate(groups)}


def _label(kind: str, layers: Sequence[int]) -> str:
    return f"layer {layers[0]} ({kind})" if len(layers) == 1 else f"layers {layer_range(layers)} ({kind} x{len(layers)})"


def layer_range(layers: Sequence[int]) -> str:
    """Return layers in words: `0-29` when without a gap, `3, 7, … 31` when not, all of them up to three."""
    if not layers:
        return "none"
    if len(layers) > 1 and layers[-1] - layers[0] + 1 == len(layers):
        return f"{layers[0]}-{layers[-1]}"
    if len(layers) <= 3:
        return ", ".join(map(str, layers))
    return f"{layers[0]}, {layers[1]}, … {layers[-1]}"


def with_lanes(spans: pl.DataFrame) -> pl.DataFrame:
    """Return versions of spans with `lane`, from 0 within their group, and `died` filled with `FAR`."""
    filled = spans.with_columns(pl.col("died").fill_null(FAR)).sort("born", "snapshot")
    lifetimes = filled.group_by("snapshot", maintain_order=True).agg(
        pl.col("group").first(), pl.col("born").min(), pl.col("died").max(), pl.col("start").min(), pl.col("end").max()
    )
    taken: dict[int, list[list[tuple[int, int, int]]]] = {}
    lanes: dict[int, int] = {}
    for snapshot, group, born, died, start, end in lifetimes.iter_rows():
        lanes[snapshot] = _first_free(taken.setdefault(group, []), born, died, start, end)
    lane = pl.DataFrame({"snapshot": list(lanes), "lane": list(lanes.values())}, schema={"snapshot": filled.schema["snapshot"], "lane": pl.Int64})
    return filled.join(lane, on="snapshot", how="left", maintain_order="left")


def _first_free(lanes: list[list[tuple[int, int, int]]], born: int, died: int, start: int, end: int) -> int:
    for place, lane in enumerate(lanes):
        # spans come in the order of their birth, so what died before this one can never be met again
        lane[:] = [held for held in lane if held[0] > born]
        if all(end <= other_start or other_end <= start for _, other_start, other_end in lane):
            lane.append((died, start, end))
            return place
    lanes.append([(died, start, end)])
    return len(lanes) - 1
