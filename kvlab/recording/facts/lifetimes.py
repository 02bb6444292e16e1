"""Where a runner's lifetime begins in a series of its bytes: by events, or by a fall that only the figures show.

Eviction takes a part of what has grown; what falls back to where it began was freed as a whole.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from kvlab.events import Listed, RequestBegan, RunnerChanged
from kvlab.recording.by_kind import EventTables
from kvlab.recording.facts.owners import Values
from kvlab.units import GB

LEAST_FALL = GB // 2
"""Bytes below which a fall is a live buffer's or noise; a coarse print must fall by more than two steps."""

LEFT = 0.25
"""The share of the growth that may be there again when the first figure of a new lifetime is read."""

ANEW = ("starting", "unloaded")
"""States of a runner after which it holds nothing of before."""

BEGIN, END = ("starting", "serving", "ready"), ("stopping", "unloaded")


def begins_anew(observed: Values, step: int) -> list[int]:
    """Return the places of the first figures after the model was unloaded, by the figures alone."""
    found: list[int] = []
    first = 0
    for place in range(1, len(observed)):
        lifetime = observed[first:place]
        grown = float(lifetime.max() - lifetime[0])
        fell = float(observed[place - 1] - observed[place])
        if min(fell, grown) > max(LEAST_FALL, 2 * step) and observed[place] <= lifetime[0] + LEFT * grown:
            found.append(place)
            first = place
    return found


def parts_between(edges: list[int], length: int) -> list[slice]:
    """Return the stretches between places where something begins anew, in order."""
    return [slice(first, last) for first, last in pairwise(sorted({0, *edges, length}))]


def with_no_match_near(places: list[int], matched: Values) -> list[int]:
    """Return the places whose request, or the one before when a figure is late, matched nothing, as after an unload."""
    return [place for place in places if np.any(matched[max(0, place - 1) : place + 1] == 0)]


def restarts_of(events: EventTables) -> tuple[int, ...]:
    """Return the requests after which a runner held nothing any more."""
    kinds = pl.col("kind")
    gone = (kinds == RunnerChanged.kind) & pl.col("state").is_in(ANEW) | (kinds == Listed.kind) & (pl.col("count") == 0)
    # between two requests an event has no number: the last request before it is meant; a runner that starts in a request answers it
    after = pl.when((pl.col("state") == "starting") & (pl.col("request") > 0)).then(pl.col("request") - 1).otherwise("after")
    rows = events.rows(RunnerChanged, Listed, columns=("seq", "kind", "state", "count", "request")).filter(gone.fill_null(value=False))
    return tuple(int(request) for request in events.numbered(rows).select(after).to_series().unique().sort())


def stop_of(events: EventTables) -> tuple[float, tuple[int, ...]] | None:
    """Return the seconds and the processes of the stop that left no runner alive; None when one may be, or when no runner was seen."""
    if not events.has(RunnerChanged):
        return None
    rows = events.rows(RunnerChanged, RequestBegan, columns=("kind", "state", "pid", "port", "t"))
    alive, ended, found = set[int | None](), set[tuple[int | None, int | None]](), None
    for kind, state, pid, port, t in rows.iter_rows():
        if kind == RequestBegan.kind or state in BEGIN:
            found = None
            if kind != RequestBegan.kind:
                alive.add(port)
        elif state in END:
            ended.add((pid, port))
            # a stop names the process, a start its port: only their number distinguishes them
            if len(ended) >= len(alive):
                found = (float(t), tuple(sorted(one for one, _ in ended if one is not None)))
                alive.clear()
                ended.clear()
    return found
