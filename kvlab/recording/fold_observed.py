"""The table `observed`: figures that were read off something outside, a row each.

The process's footprint that a run reads of itself is one of them, under the gauge that imports and probes give it.
Invariants: rows stand in the order of `seq`; of `value` (bytes), `number` and `words` one is set.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import Observed
from kvlab.recording.readings import observed

SCHEMA: dict[str, pl.DataType] = {
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


def fold_observed(events: pl.DataFrame) -> pl.DataFrame:
    """Return the table of observed figures, with `SCHEMA`."""
    rows = events.filter(pl.col("kind") == Observed.kind)
    told = rows.select(pl.col("observed" if name == "value" else name).cast(dtype).alias(name) for name, dtype in SCHEMA.items())
    return pl.concat([told, _own_footprints(events)]).sort("seq", maintain_order=True)


def _own_footprints(events: pl.DataFrame) -> pl.DataFrame:
    read = observed(events).drop_nulls("footprint").select("seq", "t", "request", pl.col("footprint").alias("value"))
    figures = read.with_columns(pl.lit("footprint").alias("gauge"), pl.lit("").alias("label"), pl.lit("B").alias("unit"), pl.lit(1).alias("step"))
    return figures.select(pl.col(name).cast(dtype) if name in figures.columns else pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items())
