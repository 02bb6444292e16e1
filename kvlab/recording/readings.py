"""Which readings of bytes were observed and which are predictions.

A real run carries, beside what its allocator said, readings with source `twin`: what a lawful cache would hold. In a recording
that the twin alone made, the twin's readings are what was observed and nothing was predicted.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import BytesRead

PREDICTED = "twin"
"""The source of predictions beside a real run."""


def observed(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were observed."""
    readings = events.filter(pl.col("kind") == BytesRead.kind)
    from_others = readings.filter(pl.col("source") != PREDICTED)
    return from_others if from_others.height else readings


def predicted(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were predicted beside a real run."""
    readings = events.filter(pl.col("kind") == BytesRead.kind)
    from_twin = readings.filter(pl.col("source") == PREDICTED)
    return from_twin if from_twin.height < readings.height else from_twin.clear()
