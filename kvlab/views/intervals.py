"""Rows of many moments as intervals: what stays the same over several moments is sent to a chart once, with `born` and `died`.

A chart then shows a moment by a filter on one parameter (`ALIVE`) and is never sent again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import polars as pl

ROWS = 2500
"""A chart takes at most this many intervals; above, moments are thinned out."""

FAR = 2**53
"""`died` of what is alive at the last moment: JavaScript's largest exact whole number."""


def alive(parameter: str) -> str:
    """Return the Vega filter for what exists at the moment that `parameter` holds."""
    return f"datum.born <= {parameter} && {parameter} < datum.died"


def intervals(seqs: Sequence[int], rows: Iterable[Iterable[dict[str, Hashable]]]) -> pl.DataFrame:
    """Return each distinct row once for each run of moments over which it stays, with `born` and `died` (seq).

    Args:
        seqs: The moments, rising.
        rows: For each moment its rows, all with the same keys.
    """
    made: list[dict[str, Any]] = []
    open_rows: dict[tuple[Hashable, ...], dict[str, Any]] = {}
    for seq, now in zip(seqs, rows, strict=True):
        still: dict[tuple[Hashable, ...], dict[str, Any]] = {}
        for row in now:
            key = tuple(row.values())
            record = open_rows.pop(key, None)
            if record is None:
                record = {**row, "born": seq, "died": FAR}
                made.append(record)
            still[key] = record
        for record in open_rows.values():
            record["died"] = seq
        open_rows = still
    return pl.DataFrame(made, infer_schema_length=None)
