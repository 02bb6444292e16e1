"""The table `bytes`: every reading in long form, a row for each owner and kind of bytes.

Invariants: rows are in the order of `seq`, then of `MEANING`; predictions of the twin are rows with `source` twin.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import BytesRead
from kvlab.recording.by_kind import EventTables

MEANING: dict[str, tuple[str, str]] = {
    "weights": ("weights", "retained"),
    "live_logical": ("live", "logical"),
    "live": ("live", "retained"),
    "counted": ("snapshots", "counted"),
    "paged_out": ("snapshots", "paged_out"),
    "snapshots": ("snapshots", "retained"),
    "transient": ("transient", "retained"),
    "pool": ("pool", "retained"),
    "active": ("all", "active"),
    "peak": ("all", "peak"),
    "unattributed": ("unattributed", "active"),
    "budget": ("budget", "counted"),
    "footprint": ("process", "footprint"),
}
"""The owner and the kind of bytes of each field of `BytesRead`."""

SCHEMA: dict[str, pl.DataType] = {
    "seq": pl.Int64(),
    "request": pl.Int64(),
    "phase": pl.String(),
    "source": pl.String(),
    "owner": pl.String(),
    "kind": pl.String(),
    "value": pl.Int64(),
}
"""The columns of `bytes`; `value` is in bytes."""


def fold_bytes(events: EventTables) -> pl.DataFrame:
    """Return the table of bytes, with `SCHEMA`."""
    keys = ["seq", "request", "phase", "source"]
    readings = events.rows(BytesRead, columns=[*keys, *MEANING]).with_row_index("_at")
    fields = list(MEANING)
    long = readings.unpivot(fields, index=["_at", *keys], variable_name="_field", value_name="value").drop_nulls("value")
    return (
        long.with_columns(
            pl.col("_field").replace_strict(fields, range(len(fields)), return_dtype=pl.Int64).alias("_rank"),
            pl.col("_field").replace_strict(fields, [owner for owner, _ in MEANING.values()], return_dtype=pl.String).alias("owner"),
            pl.col("_field").replace_strict(fields, [kind for _, kind in MEANING.values()], return_dtype=pl.String).alias("kind"),
        )
        .sort("_at", "_rank")
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )
