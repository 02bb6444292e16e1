"""Which readings of bytes were observed and which are predictions.

A run's log also has readings with source `twin`: what the expected policy would hold. All others were observed, also those of a run of
the twin itself, whose events have the source `spans`.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import BytesRead

PREDICTED = "twin"
"""The source of predictions."""

PAGED_OUT = pl.coalesce("paged_out", "counted").alias("paged_out")
"""What the trie's snapshots count: `counted` where a reading does not distinguish the two, as a budget on paged-out bytes need not."""

_IS_READING = pl.col("kind") == BytesRead.kind


def observed(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were observed."""
    return events.filter(_IS_READING & pl.col("source").ne_missing(PREDICTED))


def predicted(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `BytesRead` events that were predicted."""
    return events.filter(_IS_READING & (pl.col("source") == PREDICTED))
