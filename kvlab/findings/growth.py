"""Growth of the cache's own owners: when the budget that sees them is full, and whether bytes that nothing explains grow beyond rounding.

Counted bytes saw-tooth below a full budget, so a level that is never passed again does not say that it is full. It is full at the first request whose
bytes no longer fit: the first in which something was evicted. Where no eviction was recorded, it is the request that follows the first one after which
a branch of the usual size (the median of what a request added) does not fit; a budget that the last request filled has no plateau yet.
`kvlab.lab.outlook` predicts the same request. Where only counted bytes were read, now and then, it is also full from where they stay just below it.
What a limit of entries evicts fills no budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from kvlab.findings.finding import Number
from kvlab.lab.outlook import requests_until_full
from kvlab.recording.facts import Facts, Owners, Values
from kvlab.units import KIB, binary

MOST_POINTS = 1500
"""Longer series are thinned evenly: the pairs of 1,500 points are about a million."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope, in units of y per unit of x.

    Attributes:
        value: The slope.
        low: The lower end of its interval.
        high: The upper end.
    """

    value: float
    low: float
    high: float


LEVEL = 0.95
"""How often an interval holds the slope of independent errors."""

NONE = Slope(0.0, 0.0, 0.0)
"""The slope of fewer than two points."""


def theil_sen(x: Values, y: Values, level: float = LEVEL) -> Slope:
    """Return the robust slope of `y` over strictly increasing `x`, two arrays of shape (points,), with its interval at `level`.

    Equal values of `y` do not narrow the interval, and its ends are rounded outwards to a pair's slope.
    """
    if len(x) > MOST_POINTS:
        keep = np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(np.int64)
        x, y = x[keep], y[keep]
    count = len(x)
    if count < 2:
        return NONE
    first, second = np.triu_indices(count, 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    pairs = len(slopes)
    width = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, math.floor((pairs - width) / 2) - 1)
    high = min(pairs - 1, math.ceil((pairs + width) / 2))
    return Slope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


LEAST_REQUESTS = 3
"""Fewer requests have no trend."""

LEAST_SLOPE = 4 * KIB
"""Unexplained bytes per request that a real run may gain: small objects that no owner names. A twin is exact."""

ROUNDING = {"cpu": 0.1, "gpu": 1.0}
"""What snapshots may retain above what they count, as a share of it, by the model's device. MLX takes a free buffer of up to twice the size
needed, and on a GPU rounds large ones up to a page; on a CPU 0.005 was measured."""

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
        until_full: After how many more requests of the same kind it is full; None when it is, or when nothing grows.
        grows: The counted bytes still grow at the end of that part.
    """

    reached: int | None
    limited: int | None
    growth: Slope
    until_full: int | None
    grows: bool


def filling(data: Owners) -> Filling:
    """Return how what the budget sees has grown."""
    seen, reached, limited = data.seen_by_budget, _full_since(data), _place_of_first(data, data.limited_in)
    part = slice(0, len(data) if reached is None else max(reached, 2))
    if reached is None and limited is not None:
        # as many entries as before, each of which may be larger
        part = slice(limited, None)
    grown, growth = seen[part], theil_sen(data.request[part], seen[part])
    # growth that ended in the first half has stopped; of an even number the earlier middle is taken, so that two requests can grow
    grows = growth.low > 0 if part.stop is None else len(grown) > 1 and bool(grown[-1] > grown[(len(grown) - 1) // 2])
    until_full = requests_until_full(max(0.0, float(data.budget[-1] - seen[-1])), growth.value) if grows and reached is None else None
    return Filling(reached, limited, growth, until_full, grows)


def _place_of_first(data: Owners, evicted_in: tuple[int, ...]) -> int | None:
    """Return the place of the first request in which something was evicted; None when nothing was."""
    return int(np.searchsorted(data.request, evicted_in[0])) if evicted_in else None


def _full_since(data: Owners) -> int | None:
    seen, place = data.seen_by_budget, _place_of_first(data, data.evicted_in)
    if place is None and data.limited_in:
        return None
    if place is None:
        steps = np.diff(seen)
        branch = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        full = np.flatnonzero(seen + branch > data.budget)
        place = int(full[0]) + 1 if len(full) and branch > 0 else len(data)
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


def above_budget(data: Owners) -> int:
    """Return by how much what the budget sees grows above it, in bytes per request; 0 when it stays."""
    above = np.flatnonzero(data.seen_by_budget > data.budget)
    slope = theil_sen(data.request[above], data.seen_by_budget[above])
    return round(slope.value) if slope.value > 0 and (len(above) < LEAST_REQUESTS or slope.low > 0) else 0


def owner_numbers(data: Owners, fill: Filling) -> dict[str, Number]:
    """Return the figures of what the budget sees, and of all owners where they were read."""
    seen, budget = data.seen_by_budget, data.budget
    numbers: dict[str, Number] = {
        "requests": len(data),
        "last_request": int(data.request[-1]),
        "budget_bytes": round(budget[-1]),
        "counted_bytes": round(seen[-1]),
        "growth_bytes_per_request": round(fill.growth.value),
        "largest_counted_bytes": round(seen.max()),
        "over_budget_bytes": round(max(0.0, seen[-1] - budget[-1])),
        "growth_above_budget_bytes_per_request": above_budget(data),
        "evicting_requests": len(data.evicted_in),
        "plateau_reached_at_request": None if fill.reached is None else int(data.request[fill.reached]),
        "requests_until_full": fill.until_full,
    }
    weights, held = data.weights, data.retained if data.exact else data.active
    if data.live is None or weights is None or held is None:
        return numbers
    numbers |= {
        "live_bytes": round(data.live[-1]),
        "live_growth_bytes": round(data.live[-1] - data.live[0]),
        "weights_bytes": round(weights[-1]),
        "predicted_plateau_bytes": round(weights[-1] + budget[-1] + (0 if data.counts_live else data.live[-1])),
        "observed_plateau_bytes": None,
        "observed_plateau_low_bytes": None,
    }
    if fill.reached is not None:
        after = slice(fill.reached, None)
        numbers |= {"observed_plateau_bytes": round(float(held[after].max())), "observed_plateau_low_bytes": round(float(held[after].min()))}
        if data.predicted_counted is not None and data.predicted_live is not None:
            numbers["twin_plateau_bytes"] = round(float((weights[after] + data.predicted_counted[after] + data.predicted_live[after]).max()))
    return numbers


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Bytes that grow or not, of one name: unexplained, pinned or unattributed.

    Attributes:
        name: Whose bytes.
        total: All of them, shape (requests,).
        beyond: Those beyond what the allocator's rounding of snapshots may be.
        slope: Of these, in bytes per request, over all requests or over the later half.
        leaks: Whether the slope is a leak's: its interval is wholly above `LEAST_SLOPE`, for a twin above 0.
    """

    name: str
    total: Values
    beyond: Values
    slope: Slope
    leaks: bool

    def words(self) -> str:
        """Return how they grow: all of them, what the allocator's rounding may be of that, and the slope of the rest."""
        total, beyond, count = float(self.total[-1]), float(self.beyond[-1]), len(self.total)
        name, rate = f"{self.name.capitalize()} bytes", f"{binary(round(self.slope.value, 1))} per request"
        if round(total) == round(beyond):
            return f"{name} grow by {rate}, to {binary(total)} after {count} requests"
        return (
            f"{name} grow to {binary(total)} after {count} requests; up to {binary(total - beyond)} of them may be the allocator's rounding of snapshots, "
            f"the other {binary(beyond)} grow by {rate}"
        )


def unnamed(facts: Facts, data: Owners, name: str, total: Values, *, halves: bool = False) -> Unnamed:
    """Return whether bytes of a name grow; with `halves`, also whether those of the later half of the requests do."""
    beyond = total
    if name != "unattributed" and not data.exact and data.pinned is not None:
        beyond = total - np.clip(data.pinned, 0, ROUNDING.get(facts.device, max(ROUNDING.values())) * data.counted)
    least = 0 if data.exact else LEAST_SLOPE
    starts = [first for first in ((0, len(data) // 2) if halves else (0,)) if len(data) - first >= LEAST_REQUESTS]
    slopes = [theil_sen(data.request[first:], beyond[first:]) for first in starts] or [NONE]
    # bytes below what the rules hold are no leak, though they come nearer to it
    leaking = [slope for slope in slopes if slope.low > least and beyond[-1] > 0]
    return Unnamed(name, total, beyond, (leaking or slopes)[0], bool(leaking))


def unexplained_or_owned(facts: Facts, data: Owners) -> Unnamed | None:
    """Return the bytes that nothing explains; where no simulation was recorded, those of the owner that grows: what snapshots pin, or what nothing names."""
    if data.unexplained is not None:
        return unnamed(facts, data, "unexplained", data.unexplained, halves=True)
    if data.pinned is None or data.unattributed is None:
        return None
    name, total = ("pinned", data.pinned) if unnamed(facts, data, "pinned", data.pinned).leaks else ("unattributed", data.unattributed)
    return unnamed(facts, data, name, total, halves=True)
