"""What views take, and the two tables all of them start from: readings (one row a reading of bytes) and moments.

Invariants: views hold tables, never arrays; a prediction never counts as observed.
A moment is the `seq` of a reading: what a viewer can stop at. All views of one recording share its moments.
"""

from __future__ import annotations

import polars as pl

from kvlab.recording import Recording, extremes
from kvlab.recording.fold_bytes import MEANING

READINGS = 2000
"""A chart of bytes draws at most this many readings."""

MOMENTS = 120
"""A slider stops at most at this many moments."""


def largest(table: pl.DataFrame, name: str) -> float:
    """Return the largest value in a column of numbers; 0 when it has none."""
    return extremes.largest(table.get_column(name))


def readings(recording: Recording) -> pl.DataFrame:
    """Return observed readings in order: seq, request, phase, the fields of `fold_bytes.MEANING` in bytes (null when not read), `predicted` and `x`.

    `x` places a reading on an axis of requests: request r owns [r - 0.5, r + 0.5), its readings share that evenly.
    `predicted` is the twin's counted bytes, at the request's last reading. Above `READINGS` rows only each request's last reading stays.
    """
    table = recording.readings.select("seq", "request", "phase", *MEANING)
    if table.height > READINGS:
        table = table.group_by("request", maintain_order=True).last().select(table.columns)
        table = table.gather_every(-(-table.height // READINGS), offset=(table.height - 1) % -(-table.height // READINGS))
    place = pl.int_range(pl.len()).over("request") / pl.len().over("request")
    table = table.with_columns(x=pl.col("request") - 0.5 + place)
    predicted = recording.requests.select("request", predicted="predicted_counted")
    is_last = pl.col("seq") == pl.col("seq").max().over("request")
    return table.join(predicted, on="request", how="left", maintain_order="left").with_columns(predicted=pl.when(is_last).then("predicted"))


def moments(recording: Recording, most: int = MOMENTS) -> pl.DataFrame:
    """Return the moments at which a viewer can stop: seq, request, phase and x, at most `most` of them and always the last.

    All readings if they are few enough, else each request's last one, else every n-th of these.
    """
    table = readings(recording).select("seq", "request", "phase", "x")
    if table.height > most:
        table = table.group_by("request", maintain_order=True).last().select("seq", "request", "phase", "x")
    step = max(1, -(-table.height // most))
    return table.gather_every(step, offset=(table.height - 1) % step) if table.height else table


def last_bytes(table: pl.DataFrame, name: str) -> int:
    """Return the last value in a column of `readings` that was read at all, in bytes; 0 when none was."""
    values = table.get_column(name).drop_nulls()
    return int(values[-1]) if len(values) else 0
