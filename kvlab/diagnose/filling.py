"""When a budget is full. Counted bytes saw-tooth below a full budget, so a level that is never passed again does not say it.

The budget is full at the first request whose bytes no longer fit: the first in which something was evicted. Where no eviction was
recorded, it is the request that follows the first one after which a branch of the usual size (the median of what a request added) does
not fit; a budget that the last request filled has no plateau yet. `kvlab.lab.outlook` predicts the same request. Where only counted bytes were
read, now and then, it is also full from where they stay just below it. What a limit of entries evicts fills no budget.
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
        limited: Place of the first request in which the limit of entries evicted something; None when none was.
        growth: Slope of what the budget sees, in bytes per request, over the requests before it.
        grows: The counted bytes still grow at the end of that part.
    """

    reached: int | None
    limited: int | None
    growth: Slope
    grows: bool

    def requests_until_full(self, room: float) -> int | None:
        """Return after how many more requests of the same kind a budget with `room` bytes left is full; None when nothing grows."""
        return requests_until_full(room, self.growth.value) if self.grows else None


def filling(data: Owners) -> Filling:
    """Return how what the budget sees has grown."""
    seen = data.seen_by_budget
    reached, limited = _reached(data), _place(data, data.limited_in)
    if reached is None and limited is not None:
        # as many entries as before, each of which may be larger
        growth = theil_sen(data.request[limited:], seen[limited:])
        return Filling(reached, limited, growth, grows=growth.low > 0)
    part = slice(0, len(data) if reached is None else max(reached, 2))
    grown = seen[part]
    return Filling(reached, limited, growth=theil_sen(data.request[part], grown), grows=_grows(grown))


def _place(data: Owners, evicted_in: tuple[int, ...]) -> int | None:
    """Return the place of the first request in which something was evicted; None when nothing was."""
    return int(np.searchsorted(data.request, evicted_in[0])) if evicted_in else None


def _grows(seen: Values) -> bool:
    # Growth that ended in the first half has stopped. Of an even number the earlier middle is taken, so that two requests can grow.
    return len(seen) > 1 and bool(seen[-1] > seen[(len(seen) - 1) // 2])


def _reached(data: Owners) -> int | None:
    seen = data.seen_by_budget
    place = _place(data, data.evicted_in)
    if place is None and data.limited_in:
        return None
    if place is None:
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
