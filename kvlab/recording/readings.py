"""Which readings of bytes were observed and which are predictions, and the table `observed`.

A run's log also has readings with source `twin`: what the expected policy would hold. All others were observed, also those of a run of
the twin itself, whose events have the source `spans`.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from kvlab.events import BytesRead, Observed
from kvlab.recording.by_kind import EventTables

PREDICTED = "twin"
"""The source of predictions."""

PAGED_OUT = pl.coalesce("paged_out", "counted").alias("paged_out")
"""What the trie's snapshots count: `counted` where a reading does not distinguish the two, as a budget on paged-out bytes need not."""

OBSERVED: dict[str, pl.DataType] = {
    "seq": pl.Int64(),
    "t": pl.Float64(),
    "request": pl.Int64(),
    "gauge": pl.String(),
    "label": pl.String(),
    "value": pl.Int64(),
    "number": pl.Float64(),
    "words": pl.String(),
    "unit": pl.String(),
    "step": pl.Int64(),
    "pid": pl.Int64(),
    "at": pl.String(),
}
"""The columns of `observed`; `value` and `step` are in bytes, `t` in seconds since the first moment that the source names."""


def observed(events: EventTables, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the `BytesRead` events that were observed; all their columns, when none are named."""
    return _readings(events, columns, pl.col("source").ne_missing(PREDICTED))


def predicted(events: EventTables, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the `BytesRead` events that were predicted; all their columns, when none are named."""
    return _readings(events, columns, pl.col("source") == PREDICTED)


def _readings(events: EventTables, columns: Sequence[str] | None, which: pl.Expr) -> pl.DataFrame:
    found = events.rows(BytesRead, columns=None if columns is None else list(dict.fromkeys(["source", *columns]))).filter(which)
    return found if columns is None else found.select(columns)


def fold_observed(events: EventTables) -> pl.DataFrame:
    """Return the figures that were read outside, a row each, with `OBSERVED`: in the order of `seq`; one of `value`, `number` and `words` is set.

    The process's footprint that a run reads of itself is one of them, under the gauge that imports and probes give it.
    """
    figures = events.rows(Observed).rename({"observed": "value"}).select(*OBSERVED)
    own = observed(events, ("seq", "t", "request", "footprint")).drop_nulls("footprint").rename({"footprint": "value"})
    own = own.with_columns(pl.lit("footprint").alias("gauge"), pl.lit("").alias("label"), pl.lit("B").alias("unit"), pl.lit(1).alias("step"))
    return pl.concat([figures, own.cast({"step": pl.Int64})], how="diagonal").sort("seq", maintain_order=True)
