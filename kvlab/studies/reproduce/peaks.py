"""Peaks: the most bytes that all owners held at any moment of a request, and two named constants between these levels and peaks that a server printed.

Readings are taken at the ends of phases; a merge that eviction makes inside one is not on them. Here every event is followed, and the level
is taken whenever a snapshot is placed or bytes are read: while a merge is under way its result and its inputs are both known, but the
arrays are joined layer by layer and each input is freed as it is consumed.
Under `lifetimes=sweep` what is closed keeps its buffers until the next sweep: after a prefill chunk, or when the request has closed.
Invariant: a request's level is at least its highest reading of weights + live + snapshots. What a forward needs on top of that
(peak_transients.py) is not on it, but in the constants:

    peak = level + base + per_token x prompt tokens

`base` is what a server holds at no context on top of the twin's level: weights read elsewhere, fixed workspace. `per_token` is the
workspace of a prefill for every token of context: attention scores of one chunk, a layer's old buffer while it grows.
Both are fitted by least squares; what they are worth shows on rows that were not fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from kvlab.errors import BadValue
from kvlab.events import Allocated, BytesRead, ChunkRan, Evicted, Freed, RequestClosed, SnapshotClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken
from kvlab.recording import Recording
from kvlab.recording.readings import PREDICTED

_MOVES = (Allocated, ChunkRan, Freed, RequestClosed, SnapshotClosed, SnapshotOwned, SnapshotTaken)
_AT_REST = (BytesRead, ChunkRan, Evicted, RequestClosed, SnapshotPlaced)
_COLUMNS = ("kind", "source", "request", "owner", "snapshot", "retained")


@dataclass(frozen=True, slots=True)
class Level:
    """The highest level of one request. All in bytes.

    Attributes:
        request: Its number; 0 is the load.
        weights: Of the weights.
        live: Of the live buffers.
        snapshots: Retained by snapshots; what they share is counted for each.
        waiting: Of snapshots that are closed and wait for a sweep: consumed merge inputs and what they replaced.
    """

    request: int
    weights: int
    live: int
    snapshots: int
    waiting: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.live + self.snapshots + self.waiting


class _Owners:
    """What every owner holds now."""

    def __init__(self, *, sweeps: bool) -> None:
        self._sweeps = sweeps
        self._by_snapshot: dict[int, int] = {}
        self._weights = self._live = self._snapshots = self._waiting = 0

    def take(self, row: dict[str, Any]) -> None:
        kind, retained = row["kind"], row["retained"] or 0
        if kind in (Allocated.kind, Freed.kind):
            if row["owner"] == "live":
                self._live += retained if kind == Allocated.kind else -retained
            elif row["owner"] == "weights":
                self._weights += retained if kind == Allocated.kind else -retained
        elif kind in (SnapshotTaken.kind, SnapshotOwned.kind):
            self._snapshots += retained - self._by_snapshot.get(row["snapshot"], 0)
            self._by_snapshot[row["snapshot"]] = retained
        elif kind == SnapshotClosed.kind:
            gone = self._by_snapshot.pop(row["snapshot"], 0)
            self._snapshots -= gone
            self._waiting += gone if self._sweeps else 0
        elif kind in (ChunkRan.kind, RequestClosed.kind):
            self._waiting = 0

    def level(self, request: int) -> Level:
        return Level(request, self._weights, self._live, self._snapshots, self._waiting)


def levels(recording: Recording) -> tuple[Level, ...]:
    """Return the highest level of every request that has any event, in the order of their numbers."""
    owners = _Owners(sweeps=recording.manifest.policy.get("lifetimes") == "sweep")
    highest: dict[int, Level] = {}
    at_rest = {one.kind for one in _AT_REST}
    rows = recording.rows(*_MOVES, *_AT_REST, columns=_COLUMNS).filter(pl.col("source").ne_missing(PREDICTED))
    for row in rows.iter_rows(named=True):
        if row["kind"] in at_rest:
            now, known = owners.level(row["request"]), highest.get(row["request"])
            if known is None or now.total > known.total:
                highest[row["request"]] = now
        owners.take(row)
    return tuple(highest[request] for request in sorted(highest))


@dataclass(frozen=True, slots=True)
class PeakFit:
    """The constants and how well they do.

    Attributes:
        base: Bytes on top of the level at no context; may be negative when the level's weights are too high.
        per_token: Bytes for every token of context.
        fitted: Rows they were fitted on.
        residuals: Predicted less observed of every row that was given, fitted or not, in bytes.
        shares: The same as a share of what was observed.
    """

    base: float
    per_token: float
    fitted: int
    residuals: tuple[float, ...]
    shares: tuple[float, ...]

    def peak(self, level: float, tokens: int) -> float:
        """Return the predicted peak of a request of `tokens` whose level is `level`, in bytes."""
        return level + self.base + self.per_token * tokens


def fit(levels: Sequence[float], tokens: Sequence[int], peaks: Sequence[float], rows: int) -> PeakFit:
    """Fit the two constants on the first `rows` rows and predict all rows by them. Levels and peaks are in bytes.

    Raises:
        BadValue: fewer than two rows to fit on, or rows of unequal number.
    """
    if not 2 <= rows <= len(peaks) or not len(levels) == len(tokens) == len(peaks):
        raise BadValue(
            what=f"{rows} rows to fit on of {len(levels)} levels, {len(tokens)} prompts and {len(peaks)} peaks",
            why="two constants need at least two rows, each with a level, a prompt and a peak",
            hint="give as many of each, and fit on 2 or more",
        )
    level, at, peak = (np.asarray(one, dtype=float) for one in (levels, tokens, peaks))
    terms = np.column_stack([np.ones_like(at), at])
    base, per_token = np.linalg.lstsq(terms[:rows], (peak - level)[:rows], rcond=None)[0]
    left = level + base + per_token * at - peak
    return PeakFit(float(base), float(per_token), rows, tuple(left.tolist()), tuple((left / peak).tolist()))
