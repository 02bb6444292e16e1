"""When a budget is full. Counted bytes saw-tooth below a full budget, so a level that is never passed again does not say it.

The budget is full at the first request whose bytes no longer fit: the first in which something was evicted. Where no eviction was
recorded, it is the request that follows the first one after which a branch of the usual size (the median of what a request added) does
not fit; a budget that the last request filled has no plateau yet. `kvlab.lab.outlook` predicts the same request. Where only counted bytes were
read, now and then, it is also full from where they stay just below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvlab.diagnose.trend import Slope, theil_sen
from kvlab.lab.outlook import requests_until_full
from kvlab.recording.facts import Owners, Values

JUST_BELOW = 0.97
"""The share of the budget from which on counted bytes that stay are a full budget."""

LEAST_STAY = 3
"""Readings that must stay there."""

SLOWER = 0.25
"""The share of the earlier growth per request that readings of a full budget may have."""


@dataclass(frozen=True, slots=True)
class Filling:
    """How the counted bytes came to where they are.

    Attributes:
        reached: Place in the series of the request at which the budget is full; None while it is filling, or if nothing grows.
        growth: Slope of what the budget sees, in bytes per request, over the requests before it.
        grows: The counted bytes still grow at the end of that part.
    """

    reached: int | None
    growth: Slope
    grows: bool

    def requests_until_full(self, room: float) -> int | None:
        """Return after how many more requests of the same kind a budget with `room` bytes left is full; None when nothing grows."""
        return requests_until_full(room, self.growth.value) if self.grows else None


def filling(data: Owners) -> Filling:
    """Return how what the budget sees has grown."""
    seen = data.seen_by_budget
    reached = _reached(data)
    part = slice(0, len(data) if reached is None else max(reached, 2))
    grown = seen[part]
    return Filling(
        reached=reached,
        growth=theil_sen(data.request[part], grown),
        grows=_grows(grown),
    )


def _grows(seen: Values) -> bool:
    # Growth that ended in the first half has stopped. Of an even number the earlier middle is taken, so that two requests can grow.
    return len(seen) > 1 and bool(seen[-1] > seen[(len(seen) - 1) // 2])


def _reached(data: Owners) -> int | None:
    seen = data.seen_by_budget
    if data.evicted_in:
        place = int(np.searchsorted(data.request, data.evicted_in[0]))
    else:
        full = np.flatnonzero(seen + _branch(seen) > data.budget)
        place = int(full[0]) + 1 if len(full) and _branch(seen) > 0 else len(data)
    if place >= len(data) and data.retained is None:
        return _stays_below(data)
    return place if place < len(data) else None


def _stays_below(data: Owners) -> int | None:
    """Return the place from which counted bytes stay just below the budget, growing much slower than before; None when they do not."""
    off = np.flatnonzero(data.counted < JUST_BELOW * data.budget)
    first = int(off[-1]) + 1 if len(off) else 0
    if not 0 < first <= len(data) - LEAST_STAY:
        return None
    before = (data.counted[first] - data.counted[0]) / (data.request[first] - data.request[0])
    after = (data.counted[-1] - data.counted[first]) / (data.request[-1] - data.request[first])
    return first if after < SLOWER * before else None


def _branch(seen: Values) -> float:
    steps = np.diff(seen)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
