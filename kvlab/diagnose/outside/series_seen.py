"""The figures a server's loaded model is seen to take, request by request, cut where its runner began anew.

Invariant: every place holds the last figure read after that request and before the next; all arrays have the shape (requests,).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from kvlab.diagnose.outside.requests_told import Told
from kvlab.diagnose.trend import Values
from kvlab.events import RunnerChanged
from kvlab.recording import Recording

GAUGES = ("size_vram", "size", "active", "footprint", "rss")
"""What stands for the bytes of a loaded model, the surest first: what the server says, then what the system says of its process."""

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
    observed = recording.observed.filter(pl.col("value").is_not_null())
    best = max((_joined(recording, observed.filter(pl.col("gauge") == gauge)) for gauge in GAUGES), key=len, default=None)
    if best is None or not len(best):
        return ()
    gauge = str(best["gauge"][0])
    parts = _cut(best["request"].to_numpy(), _restarts(recording))
    return tuple(sorted((_seen(best[part], gauge) for part in parts), key=len, reverse=True))


def _joined(recording: Recording, rows: pl.DataFrame) -> pl.DataFrame:
    last = rows.filter(pl.col("request") > 0).sort("seq").group_by("request").last().select("request", "gauge", "value", "step")
    counts = recording.requests.select("request", "tokens", "matched", "generated")
    return counts.join(last, on="request", how="inner").sort("request")


def _restarts(recording: Recording) -> list[int]:
    """Return the requests after which a runner held nothing any more."""
    events = recording.events.filter(pl.col("kind") == RunnerChanged.kind)
    if not events.height:
        return []
    return [int(request) for request in events.filter(pl.col("state").is_in(ANEW))["request"].unique().sort()]


def _cut(requests: Sequence[int] | np.ndarray, restarts: list[int]) -> list[slice]:
    edges = sorted({0, *(int(np.searchsorted(requests, request, side="right")) for request in restarts), len(requests)})
    return [slice(first, last) for first, last in pairwise(edges)]


def _seen(rows: pl.DataFrame, gauge: str) -> Seen:
    counts = rows.select("tokens", "matched", "generated")
    told = None
    if not any(column.is_null().any() for column in (counts["tokens"], counts["matched"])):
        told = tuple(Told(tokens, matched, generated or 0) for tokens, matched, generated in counts.iter_rows())
    return Seen(
        request=rows["request"].cast(pl.Float64).to_numpy(),
        told=told,
        observed=rows["value"].cast(pl.Float64).to_numpy(),
        step=int(rows["step"].fill_null(1).max() or 1),  # pyright: ignore[reportArgumentType]
        gauge=gauge,
    )
