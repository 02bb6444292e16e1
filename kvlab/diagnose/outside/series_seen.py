"""The figures a server's loaded model is seen to take, request by request, cut where its runner began anew: as events tell, or the figures themselves.

Of several models that were loaded at once the one that most figures are of is taken. A model that was unloaded when idle begins anew, too.
Invariant: every place holds the last figure read after that request and before the next; all arrays have the shape (requests,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from kvlab.diagnose.known import models_listed
from kvlab.diagnose.outside.lives import begins_anew, parts_between, with_no_match_near
from kvlab.diagnose.outside.requests_told import Told
from kvlab.diagnose.trend import Values
from kvlab.events import Listed, RunnerChanged
from kvlab.recording import Recording
from kvlab.recording.extremes import largest
from kvlab.units import GB, binary

GAUGES = ("size_vram", "size", "reported", "resident", "active", "footprint", "rss")
"""What stands for the bytes of a loaded model, the surest first: what the server says, then what the system says of its process."""

OF_PROCESS = ("footprint", "anonymous", "rss")
"""Gauges of what a process holds, the surest first. On a Mac rss leaves out what Metal holds."""

TOLD_BY_SERVER = ("size_vram", "size")
"""Gauges whose label is the model's name."""

DIFFERENCE = "delta"
"""The label of a table's differences, which are no figures of their own."""

RUNNER = "runner"
"""The label of figures of the process that holds a model, where a source tells it from the server that started it."""

ANEW = ("starting", "unloaded")
"""States of a runner after which it holds nothing of before."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of one runner's life, request by request.

    Attributes:
        request: The requests' numbers.
        told: Their counts; None when no matches were told.
        observed: Bytes read after each.
        step: Bytes between a print and the next one that differs; 1 when bytes were read.
        gauge: What was read.
    """

    request: Values
    told: tuple[Told, ...] | None
    observed: Values
    step: int
    gauge: str

    def __len__(self) -> int:
        return len(self.request)


def series_seen(recording: Recording) -> tuple[Seen, ...]:
    """Return the series of the gauge that most requests have a figure of, a part for each runner, the longest first; () when there is none."""
    best = max((_joined(recording, figures_of(recording, gauge)) for gauge in charged_gauges(recording)), key=len, default=None)
    if best is None or not len(best):
        return ()
    gauge = str(best["gauge"][0])
    requests, bytes_read = best["request"].to_numpy(), best["value"].cast(pl.Float64).to_numpy()
    edges = [int(np.searchsorted(requests, request, side="right")) for request in restarts(recording)]
    fell = begins_anew(bytes_read, step_of(best))
    if not best["matched"].is_null().any():
        fell = with_no_match_near(fell, best["matched"].to_numpy())
    parts = parts_between([*edges, *fell], len(best))
    return tuple(sorted((_seen(best[part], gauge) for part in parts), key=len, reverse=True))


def charged_gauges(recording: Recording) -> tuple[str, ...]:
    """Return the gauges that stand for the model's bytes: without those of a process that never held as much as the server lists.

    Such a process is not charged with the arrays (on Linux, what a GPU holds; pages never written), so its figures say nothing of them.
    """
    listed = max((largest(figures_of(recording, gauge)["value"]) for gauge in TOLD_BY_SERVER), default=0)
    return tuple(gauge for gauge in GAUGES if gauge not in OF_PROCESS or largest(figures_of(recording, gauge)["value"]) >= listed)


def step_of(rows: pl.DataFrame, column: str = "step") -> int:
    """Return the bytes between a print of these figures and the next one that differs: the coarsest, 1 when none is told."""
    return int(largest(rows[column].fill_null(1))) or 1


def as_printed(count: float, step: int) -> str:
    """Return bytes in the units of their print, so that a reader finds his own figures again."""
    return f"{count / GB:.1f} GB" if step >= GB // 100 and step % 1000 == 0 else binary(count)


def figures_of(recording: Recording, gauge: str) -> pl.DataFrame:
    """Return the bytes that were read of a gauge: seq, request, gauge, value and step; of several models loaded at once only those of one.

    `active` is also what a log's records of the allocator tell, with its pool, since that is what a server reports.
    """
    rows = recording.observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null() & (pl.col("label") != DIFFERENCE))
    if gauge in TOLD_BY_SERVER and len(models_listed(recording)) > 1 and rows.height:
        rows = rows.filter(pl.col("label") == rows.get_column("label").mode().sort()[0])
    if rows.get_column("label").is_in([RUNNER]).any():
        # the process that holds the model, not the server that started it
        rows = rows.filter(pl.col("label") == RUNNER)
    rows = rows.select("seq", "t", "request", "gauge", "value", "step")
    if gauge == "active" and not rows.height:
        read = recording.requests.filter(pl.col("active").is_not_null())
        held = (pl.col("active") + pl.col("pool").fill_null(0)).alias("value")
        rows = read.select(
            pl.col("request").alias("seq"), pl.lit(0.0).alias("t"), "request", pl.lit(gauge).alias("gauge"), held, pl.lit(None, pl.Int64).alias("step")
        )
    return rows


def _joined(recording: Recording, rows: pl.DataFrame) -> pl.DataFrame:
    last = rows.filter(pl.col("request") > 0).sort("seq").group_by("request").last().select("request", "gauge", "value", "step")
    counts = recording.requests.select("request", "tokens", "matched", "generated")
    return counts.join(last, on="request", how="inner").sort("request")


def restarts(recording: Recording) -> list[int]:
    """Return the requests after which a runner held nothing any more."""
    kinds = pl.col("kind")
    gone = (kinds == RunnerChanged.kind) & pl.col("state").is_in(ANEW) | (kinds == Listed.kind) & (pl.col("count") == 0)
    # between two requests an event has no number: the last request before it is meant; a runner that starts in a request answers it
    number = pl.col("request").replace(0, None)
    after = pl.when((pl.col("state") == "starting") & (pl.col("request") > 0)).then(number - 1).otherwise(number.forward_fill().fill_null(0))
    events = recording.events.with_columns(after.alias("after"))
    return [int(request) for request in events.filter(gone.fill_null(value=False))["after"].unique().sort()]


def _seen(rows: pl.DataFrame, gauge: str) -> Seen:
    counts = rows.select("tokens", "matched", "generated")
    told = None
    if not any(column.is_null().any() for column in (counts["tokens"], counts["matched"])):
        told = tuple(Told(tokens, matched, generated or 0) for tokens, matched, generated in counts.iter_rows())
    return Seen(
        request=rows["request"].cast(pl.Float64).to_numpy(),
        told=told,
        observed=rows["value"].cast(pl.Float64).to_numpy(),
        step=step_of(rows),
        gauge=gauge,
    )
