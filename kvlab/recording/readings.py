"""Which readings of bytes were observed and which are predictions, and the table `observed`.

A run's log also has readings with source `twin`: what the expected policy would hold. All others were observed, also those of a run of
the twin itself, whose events have the source `spans`.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import BytesRead, Observed

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

_IS_READING = pl.col("kind") == BytesRead.kind


def observed(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were observed."""
    return events.filter(_IS_READING & pl.col("source").ne_missing(PREDICTED))


def predicted(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were predicted."""
    return events.filter(_IS_READING & (pl.col("source") == PREDICTED))


def fold_observed(events: pl.DataFrame) -> pl.DataFrame:
    """Return the figures that were read outside, a row each, with `OBSERVED`: in the order of `seq`; one of `value`, `number` and `words` is set.

    The process's footprint that a run reads of itself is one of them, under the gauge that imports and probes give it.
    """
    rows = events.filter(pl.col("kind") == Observed.kind)
    figures = rows.select(pl.col("observed" if name == "value" else name).cast(dtype).alias(name) for name, dtype in OBSERVED.items())
    return pl.concat([figures, _own_footprints(events)]).sort("seq", maintain_order=True)


def _own_footprints(events: pl.DataFrame) -> pl.DataFrame:
    read = observed(events).drop_nulls("footprint").select("seq", "t", "request", pl.col("footprint").alias("value"))
    figures = read.with_columns(pl.lit("footprint").alias("gauge"), pl.lit("").alias("label"), pl.lit("B").alias("unit"), pl.lit(1).alias("step"))
    return figures.select(pl.col(name).cast(dtype) if name in figures.columns else pl.lit(None, dtype).alias(name) for name, dtype in OBSERVED.items())
