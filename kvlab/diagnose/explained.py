"""What the cache's rules explain of the bytes that were read: observed less predicted, whose slope is unexplained.

What stays the same (weights, pool) is one unknown level; only what changes from request to request is judged. Two things are not recorded
and are found by trying, an alternative that leaves little spread counts: how late a figure is (a server refreshes it with a delay), and how
much room the cache still had when the series began (a budget that was full before does not fill again: what it holds grows as with no
budget at all). The kindest of m alternatives is kept, so each gets an interval at the level 0.95^(1/m) (Sidak): with this probability all m
intervals hold their slopes at once, the kept one among them. A print hides less than one step over the whole series, whatever the errors
are, so this bound is added to the interval once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kvlab.diagnose.trend import LEVEL, Slope, theil_sen
from kvlab.recording.facts import Values

WARM_UP = 1
"""First requests that say nothing of growth: a load leaves its pool, a first figure is of before."""

LATE = (0, 1)
"""Requests by which a figure may be late."""

CLOSE = 5_000_000
"""Bytes by which two spreads may differ and still be as good, with a quarter of the print's step.
Of such alternatives one that leaves no growth counts, else of those with the narrowest intervals the one that leaves the least."""

LOOSER = 2
"""How many times as large as the least spread one may be and still be as good: a fit that is not twice as good does not say that a cache began full."""

NARROW = 1.5
"""How many times as wide as the narrowest interval one may be and still be as good."""

SLIGHT = 1_000_000
"""Bytes per request that count as no slope when two alternatives are compared."""

ROOMS = 12
"""Shares of the predicted growth that are tried as the room the cache had."""

SURE = 2.0
"""How many times its interval's lower side a slope must be to be a leak's: the errors of a prediction are not as independent as an interval's."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A series of bytes compared with the simulation of the same requests. Slopes are in bytes per request.

    Attributes:
        predicted: Bytes the rules would have reported after each request, growth beyond the room left out.
        slope: Of the unexplained bytes, by Theil-Sen, with the interval that holds for all alternatives at once.
        hidden: The slope that the print's steps hide at most.
        late: Requests by which the figures are late.
        spread: The third quartile of the distances of the unexplained bytes from their own line. Their median would not see a bend that
            less than half of the requests are beyond; a fifth of the figures may be late.
        began_full: The cache had less room when the series began than the requests would fill.
        alternatives: How many were compared.
    """

    predicted: Values
    slope: Slope
    hidden: float
    late: int
    spread: float
    began_full: bool = False
    alternatives: int = 1

    @property
    def half_width(self) -> float:
        """Half of the slope's interval, with what the print hides."""
        return (self.slope.high - self.slope.low) / 2 + self.hidden

    @property
    def at_least(self) -> float:
        """The least slope that its error allows."""
        below = self.slope.value - self.slope.low
        return self.slope.value - max(SURE * below, below + self.hidden)

    @property
    def at_most(self) -> float:
        """The largest slope that is not excluded: to call growth a leak takes more than to leave that open."""
        return self.slope.high + self.hidden


def explained(request: Values, observed: Values, step: int, predicted: Values, grown_when_full: Values) -> Explained:
    """Compare what was read with what the rules predict.

    Args:
        request: The requests' numbers, of shape (requests,), as all arrays.
        observed: Bytes read after each.
        step: Bytes between a print and the next one that differs; 1 when bytes were read.
        predicted: Bytes the rules would have reported after each, from an empty cache on.
        grown_when_full: Bytes above the first request's after each, when the budget was full before.
    """
    ways = [(way, late) for way in _ways(predicted, grown_when_full) for late in LATE]
    level = LEVEL ** (1 / len(ways))
    tries = [_explained(request, observed, step, way, late, level) for way, late in ways]
    least = min(one.spread for one in tries)
    close = [one for one in tries if one.spread <= LOOSER * least + CLOSE + step / 4]
    kind = [one for one in close if one.slope.value <= one.half_width + SLIGHT]
    narrowest = min(one.half_width for one in close)
    # of intervals that are nearly as narrow none is surer than another: the kindest of them counts
    narrow = kind or [one for one in close if one.half_width <= NARROW * narrowest]
    kept = min(narrow, key=lambda one: (one.predicted is not predicted if kind else False, abs(one.slope.value)))
    return replace(kept, began_full=kept.predicted is not predicted, alternatives=len(ways))


def least_of_halves(request: Values, observed: Values, step: int, predicted: Values) -> float:
    """Return the slope in bytes per request that is proven in that half of the requests in which a process grew least beyond what its cache held.

    An arena heap keeps what is freed and takes one more arena when a request finds no free slot of its size. Such steps add up, so they are no
    independent errors about a line, and they become rare as the sizes come again; a leak takes its bytes in either half. They also spoil the fit by which
    another room would be found, so all of the predicted growth is the cache's, kept from its largest on. Arguments are those of `explained`.
    """
    beyond = observed - np.maximum.accumulate(predicted)
    halves = np.array_split(np.arange(WARM_UP, len(request)), 2)
    return min(theil_sen(request[half], beyond[half]).low - _hidden(step, len(half)) for half in halves)


def _hidden(step: int, count: int) -> float:
    """Return the slope that a print's steps hide at most in a series of `count` figures."""
    return (step if step > 1 else 0) / max(1, count - 1)


def _ways(predicted: Values, grown_when_full: Values) -> list[Values]:
    """Return the different predictions: as it is, then with less and less room."""
    grown = predicted - predicted[0]
    rooms = [grown.max() * share / ROOMS for share in range(ROOMS - 1, -1, -1)]
    ways = [predicted, *(predicted[0] + np.maximum(np.minimum(grown, room), grown_when_full) for room in rooms)]
    return [way for place, way in enumerate(ways) if not any(np.array_equal(way, earlier) for earlier in ways[:place])]


def _explained(request: Values, observed: Values, step: int, predicted: Values, late: int, level: float) -> Explained:
    count = len(request)
    first = late + (WARM_UP if count > 2 * (WARM_UP + late) + 2 else 0)
    unexplained = observed[first:] - predicted[first - late : count - late]
    slope = theil_sen(request[first:], unexplained, level)
    off = unexplained - slope.value * request[first:]
    return Explained(
        predicted=predicted,
        slope=slope,
        hidden=_hidden(step, count),
        late=late,
        spread=float(np.quantile(np.abs(off - np.median(off)), 0.75)),
    )
