"""Figures: the gauges that were read from outside, each a series with unit, step, time and request.

Of several models that were loaded at once the one that most figures are of is taken. A model that was unloaded when idle begins anew, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from kvlab.recording.extremes import largest
from kvlab.recording.facts.lifetimes import begins_anew, parts_between, with_no_match_near
from kvlab.recording.facts.owners import Values, values
from kvlab.units import GB, binary

GAUGES = ("size_vram", "size", "reported", "resident", "active", "footprint", "rss")
"""What can be taken for the bytes of a loaded model, the surest first: what the server says, then what the system says of its process."""

OF_ONE = ("container", "gpu_used")
"""Gauges whose label is one of several containers or devices, of which the largest is meant."""

OTHER_GAUGES = ("anonymous", "container", "current", "figures")
"""What can be taken for them where none of these was read: a cgroup's, a container's, what a server says of its own process, figures without a name."""

OF_PROCESS = ("footprint", "anonymous", "rss")
"""Gauges of what a process holds, the surest first. On a Mac rss leaves out what Metal holds."""

OF_SERVER = ("size_vram", "size")
"""Gauges whose label is the model's name."""

DIFFERENCE = "delta"
"""The label of a table's differences, which are no figures of their own."""

RUNNER = "runner"
"""The label of figures of the process that holds a model, where a source distinguishes it from the server that started it."""

COLUMNS = ("seq", "t", "request", "gauge", "value", "step")


@dataclass(frozen=True, slots=True)
class Gauge:
    """What was read of one gauge: how many figures, their unit as it was found, the bytes between two prints, and the seconds of first and last."""

    name: str
    figures: int
    unit: str
    step: int | None
    first_t: float
    last_t: float


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one request.

    Attributes:
        tokens: Tokens of the prompt.
        matched: How many of them agreed with the trie.
        generated: New tokens.
        think_s: Seconds since the request before.
    """

    tokens: int
    matched: int
    generated: int
    think_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Series:
    """One gauge of one runner's lifetime, request by request: the last figure read after a request and before the next.

    Attributes:
        request: The requests' numbers, shape (requests,).
        counts: Their counts; None when no matches were recorded.
        observed: Bytes read after each, shape (requests,).
        step: Bytes between a print and the next one that differs; 1 when bytes were read.
        gauge: What was read.
    """

    request: Values
    counts: tuple[Counts, ...] | None
    observed: Values
    step: int
    gauge: str

    def __len__(self) -> int:
        return len(self.request)


def gauges_of(observed: pl.DataFrame) -> dict[str, Gauge]:
    """Return what was read, by gauge."""
    rows = observed.group_by("gauge", maintain_order=True).agg(
        pl.len(),
        pl.col("unit").mode().sort().first(),
        pl.col("step").max(),
        pl.col("t").min().alias("first"),
        pl.col("t").max().alias("last"),
    )
    return {name: Gauge(name, count, unit or "", step, first or 0.0, last or 0.0) for name, count, unit, step, first, last in rows.iter_rows()}


def figures_of(observed: pl.DataFrame, requests: pl.DataFrame, gauge: str, *, models: int = 1) -> pl.DataFrame:
    """Return the bytes that were read of a gauge, with `COLUMNS`; when a server listed several `models`, only those of one.

    `active` is also what a log's records of the allocator hold, with its pool, since that is what a server reports.
    """
    rows = observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null() & (pl.col("label") != DIFFERENCE))
    if gauge in OF_SERVER and models > 1 and rows.height:
        rows = rows.filter(pl.col("label") == rows.get_column("label").mode().sort()[0])
    if rows.get_column("label").is_in([RUNNER]).any():
        # the process that holds the model, not the server that started it
        rows = rows.filter(pl.col("label") == RUNNER)
    if gauge in OF_ONE and rows.height:
        rows = rows.filter(pl.col("label") == rows.sort("value").item(-1, "label"))
    if gauge != "active" or rows.height:
        return rows.select(COLUMNS)
    held = (pl.col("active") + pl.col("pool").fill_null(0)).alias("value")
    other = (pl.col("request").alias("seq"), pl.lit(0.0).alias("t"), "request", pl.lit(gauge).alias("gauge"), held, pl.lit(None, pl.Int64).alias("step"))
    return requests.filter(pl.col("active").is_not_null()).select(other)


def step_of(rows: pl.DataFrame, column: str = "step") -> int:
    """Return the bytes between a print of these figures and the next one that differs: the coarsest, 1 when none was recorded."""
    return int(largest(rows[column].fill_null(1))) or 1


def as_printed(count: float, step: int) -> str:
    """Return bytes in the units of their print, so that a reader finds his own figures again."""
    return f"{count / GB:.1f} GB" if step >= GB // 100 and step % 1000 == 0 else binary(count)


def series_of(charged: dict[str, pl.DataFrame], requests: pl.DataFrame, restarts: tuple[int, ...]) -> tuple[Series, ...]:
    """Return the series of the gauge that most requests have a figure of, a part for each lifetime of the runner, the longest first.

    Args:
        charged: The figures by gauge, of those that can be taken for the model's bytes.
        requests: The table `requests`.
        restarts: The requests after which a runner held nothing any more.
    """
    best = max((_joined(requests, rows) for rows in charged.values()), key=len, default=None)
    if best is None or not len(best):
        return ()
    read = values(best, "value")
    edges = [int(np.searchsorted(best["request"].to_numpy(), request, side="right")) for request in restarts]
    fell = begins_anew(read, step_of(best))
    if not best["matched"].is_null().any():
        fell = with_no_match_near(fell, best["matched"].to_numpy())
    return tuple(sorted((_series(best[part]) for part in parts_between([*edges, *fell], len(best))), key=len, reverse=True))


def _joined(requests: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    last = rows.filter(pl.col("request") > 0).sort("seq").group_by("request").last().select("request", "gauge", "value", "step")
    return requests.select("request", "tokens", "matched", "generated").join(last, on="request", how="inner").sort("request")


def _series(rows: pl.DataFrame) -> Series:
    counts = None
    if not any(rows[name].is_null().any() for name in ("tokens", "matched")):
        counts = tuple(Counts(tokens, matched, generated or 0) for tokens, matched, generated in rows.select("tokens", "matched", "generated").iter_rows())
    return Series(values(rows, "request"), counts, values(rows, "value"), step_of(rows), str(rows["gauge"][0]))
