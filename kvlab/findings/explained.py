"""What the cache's rules explain of the bytes that were read: observed less predicted, whose slope is unexplained, and the largest leak that may hide in it.

What stays the same (weights, pool) is one unknown level; only what changes from request to request is judged. Two things are not recorded and are
fitted: how late a figure is (a server refreshes it with a delay), and how much room the cache still had when the series began (a budget that was
full before does not fill again: what it holds grows as with no budget at all).

- A prediction is plausible when it leaves about as little spread as the best one. The rules as they are, with nothing fitted, are also when they
  leave little of what they predict.
- It is a leak when each plausible prediction leaves a slope that is more than its error.
- Else what the plausible predictions without a leak leave room for is the limit: a smaller leak would not show in these figures.

Of m predictions each gets an interval at the level 0.95^(1/m) (Sidak): with this probability all m hold their slopes at once. A print hides less
than one step over the whole series, whatever the errors are, and a room between two that were tried is off by half of what lies between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvlab.findings.growth import LEVEL, Slope, theil_sen
from kvlab.recording.facts import Values
from kvlab.units import MIB

WARM_UP = 1
"""First requests that say nothing of growth: a load leaves its pool, a first figure is of before."""

LATE = (0, 1)
"""Requests by which a figure may be late."""

ROOMS = 12
"""Shares of the predicted growth that are tried as the room the cache had."""

CLOSE = 5_000_000
"""Bytes by which two spreads may differ and still be as good, with a quarter of the print's step."""

LOOSER = 2
"""How many times as large as the least spread one may be and still be as good: a fit that is not twice as good does not say that a cache began full."""

UNEXACT = 0.05
"""The share of the predicted growth that the rules may leave with nothing fitted: which earlier prompt a match was with is not recorded."""

LEAST_LEAK = 4_000_000
"""Bytes per request: a smaller slope is called no leak, as the requests' earlier halves are guessed where only their counts are known."""

ARENA = 64 * MIB
"""Bytes that a heap takes at once, as large as they usually are (glibc's): what takes half of one at each request is a leak, not new sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One prediction and what it leaves unexplained. Slopes are in bytes per request.

    Attributes:
        predicted: Bytes the rules would have reported after each request, growth beyond the room left out.
        late: Requests by which the figures are late.
        slope: Of the unexplained bytes, by Theil-Sen, with the interval that holds for all predictions at once.
        hidden: The slope that the print's steps hide at most.
        between: The slope that a room between two that were tried may be off by.
        spread: The third quartile of the distances of the unexplained bytes from their own line. Their median would not see a bend that
            less than half of the requests are beyond; a fifth of the figures may be late.
    """

    predicted: Values
    late: int
    slope: Slope
    hidden: float
    between: float
    spread: float

    @property
    def at_least(self) -> float:
        """The least slope that its error allows."""
        return self.slope.low - self.hidden

    @property
    def at_most(self) -> float:
        """The largest slope that is not excluded; a prediction that is off downwards may be off upwards by as much."""
        return max(self.slope.high, -self.slope.low) + self.hidden + self.between

    @property
    def leaks(self) -> bool:
        """Whether its slope is more than its error."""
        return self.at_least > 0 and self.slope.value > LEAST_LEAK


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """A series of bytes compared with the simulation of the same requests.

    Attributes:
        fit: The plausible prediction that leaves the least slope: what is shown.
        leaks: Whether they leak.
        limit: Bytes per request: a smaller leak would not show in these figures.
        began_full: The cache had less room when the series began than the requests would fill.
        predictions: How many were compared.
    """

    fit: Fit
    leaks: bool
    limit: float
    began_full: bool
    predictions: int


def explained(request: Values, observed: Values, step: int, predicted: Values, grown_when_full: Values, *, of_process: bool = False) -> Explained:
    """Compare what was read with what the rules predict.

    Args:
        request: The requests' numbers, of shape (requests,), as all arrays.
        observed: Bytes read after each.
        step: Bytes between a print and the next one that differs; 1 when bytes were read.
        predicted: Bytes the rules would have reported after each, from an empty cache on.
        grown_when_full: Bytes above the first request's after each, when the budget was full before.
        of_process: The bytes are a process's: its heap grows, too.
    """
    ways, growth = _ways(predicted, grown_when_full), float(np.ptp(predicted))
    level, per_request = LEVEL ** (1 / (len(ways) * len(LATE))), 1 / max(1, len(request) - 1)
    fits: list[Fit] = []
    for way in ways:
        hides = _hidden(step) * per_request, 0.0 if way is predicted else growth / ROOMS / 2 * per_request
        fits.append(min((_fit(request, observed, hides, way, late, level) for late in LATE), key=lambda fit: fit.spread))
    as_is, least = fits[0], min(fit.spread for fit in fits)
    plausible = [fit for fit in fits if fit.spread <= LOOSER * least + CLOSE + step / 4]
    without = [fit for fit in plausible if not fit.leaks]
    if as_is in without:
        # what was fitted must fit better than what was not
        without = [as_is, *(fit for fit in without if fit.spread < as_is.spread)]
    elif not without and not as_is.leaks and as_is.spread <= UNEXACT * growth:
        # what fits better leaks: the limit is as high as that
        without = [as_is, *plausible]
    leaks = not without and (not of_process or least_of_halves(request, observed, step, predicted) > ARENA / 2)
    kept = min(without or plausible, key=lambda fit: (fit is not as_is if without else False, abs(fit.slope.value)))
    limit = max([LEAST_LEAK, *(fit.at_most for fit in without or [kept])])
    return Explained(kept, leaks, limit, kept is not as_is, len(ways) * len(LATE))


def least_of_halves(request: Values, observed: Values, step: int, predicted: Values) -> float:
    """Return the slope in bytes per request that is proven in that half of the requests in which a process grew least beyond what its cache held.

    An arena heap keeps what is freed and takes one more arena when a request finds no free slot of its size. Such steps add up, so they are no
    independent errors about a line, and they become rare as the sizes come again; a leak takes its bytes in either half. They also spoil the fit by which
    another room would be found, so all of the predicted growth is the cache's, kept from its largest on. Arguments are those of `explained`.
    """
    beyond = observed - np.maximum.accumulate(predicted)
    halves = np.array_split(np.arange(WARM_UP, len(request)), 2)
    return min(theil_sen(request[half], beyond[half]).low - _hidden(step) / max(1, len(half) - 1) for half in halves)


def _hidden(step: int) -> float:
    return step if step > 1 else 0


def _ways(predicted: Values, grown_when_full: Values) -> list[Values]:
    """Return the different predictions: as it is, then with less and less room."""
    grown = predicted - predicted[0]
    rooms = [grown.max() * share / ROOMS for share in range(ROOMS - 1, -1, -1)]
    ways = [predicted, *(predicted[0] + np.maximum(np.minimum(grown, room), grown_when_full) for room in rooms)]
    return [way for place, way in enumerate(ways) if not any(np.array_equal(way, earlier) for earlier in ways[:place])]


def _fit(request: Values, observed: Values, hides: tuple[float, float], predicted: Values, late: int, level: float) -> Fit:
    count = len(request)
    first = late + (WARM_UP if count > 2 * (WARM_UP + late) + 2 else 0)
    unexplained = observed[first:] - predicted[first - late : count - late]
    slope = theil_sen(request[first:], unexplained, level)
    off = unexplained - slope.value * request[first:]
    return Fit(predicted, late, slope, *hides, float(np.quantile(np.abs(off - np.median(off)), 0.75)))
