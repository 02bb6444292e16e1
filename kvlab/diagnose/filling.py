"""When a budget is full. Counted bytes saw-tooth below a full budget, so a level that is never passed again does not say it.

The budget is full from the last request before the first eviction; without an eviction, from the first request after which
one more branch of the usual size (the median of what a request added) would not fit. A request must follow for it to count
as reached: a budget that the last request filled has no plateau yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kvlab.diagnose.series import Series
from kvlab.diagnose.trend import Slope, Values, theil_sen


@dataclass(frozen=True, slots=True)
class Filling:
    """How the counted bytes came to where they are.

    Attributes:
        reached: Place in the series from which the budget is full; None while it is filling, or if nothing grows.
        growth: Slope of what the budget sees, in bytes per request, over the requests up to there.
        grows: The counted bytes still grow at the end of that part.
    """

    reached: int | None
    growth: Slope
    grows: bool

    def requests_until_full(self, room: float) -> int | None:
        """Return after how many more requests of the same kind `room` bytes are used up; None when nothing grows."""
        return math.floor(room / self.growth.value) if self.grows and self.growth.value > 0 else None


def filling(data: Series) -> Filling:
    """Return how what the budget sees has grown."""
    seen = data.seen_by_budget
    reached = _reached(data)
    part = slice(0, len(data) if reached is None else max(reached + 1, 2))
    grown = seen[part]
    return Filling(
        reached=reached,
        growth=theil_sen(data.request[part], grown),
        grows=_grows(grown),
    )


def _grows(seen: Values) -> bool:
    # Growth that ended in the first half has stopped. Of an even number the earlier middle is taken, so that two requests can grow.
    return len(seen) > 1 and bool(seen[-1] > seen[(len(seen) - 1) // 2])


def _reached(data: Series) -> int | None:
    seen = data.seen_by_budget
    if data.evicted_in:
        place = max(0, int(np.searchsorted(data.request, data.evicted_in[0])) - 1)
    else:
        full = np.flatnonzero(seen + _branch(seen) > data.budget)
        place = int(full[0]) if len(full) and _branch(seen) > 0 else len(data)
    return place if place < len(data) - 1 else None


def _branch(seen: Values) -> float:
    steps = np.diff(seen)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
