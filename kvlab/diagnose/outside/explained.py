"""What a lawful cache explains of the bytes that were seen: observed less predicted, whose slope is unexplained.

What stays the same (weights, pool) is one unknown level; only what changes from request to request is judged. Two things are not told
and are found by trying, a way that leaves little spread counts: how late a figure is (a server refreshes it with a delay), and how much
room the cache still had when the series began (a budget that was full before does not fill again: what it holds grows as with no budget
at all). A print of whole GB hides less than one step over the whole series, so the interval of a slope is one step wider.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kvlab.diagnose.outside.series_seen import Seen
from kvlab.diagnose.outside.told_twin import ToldTwin
from kvlab.diagnose.trend import Slope, Values, theil_sen

WARM_UP = 1
"""First requests that say nothing of growth: a load leaves its pool, a first figure is of before."""

LATE = (0, 1)
"""Requests by which a figure may be late."""

CLOSE = 5_000_000
"""Bytes by which two spreads may differ and still be as good, beside a quarter of the print's step.
Of such ways one that leaves no slope counts, else the one that leaves the least."""

SLIGHT = 1_000_000
"""Bytes per request that count as no slope when two ways are compared."""

ROOMS = 12
"""Shares of the predicted growth that are tried as the room the cache had."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A series of bytes beside its twin.

    Attributes:
        predicted: Bytes a lawful cache would be reported with after each request, growth beyond the room left out.
        slope: Of the unexplained bytes, per request, by Theil-Sen.
        half_width: Half of the slope's interval, the print's step included.
        late: Requests by which the figures are late.
        began_full: The cache had less room when the series began than the requests would fill.
        spread: Median distance of the unexplained bytes from their own line.
    """

    predicted: Values
    slope: Slope
    half_width: float
    late: int
    began_full: bool
    spread: float


def explained(seen: Seen, twin: ToldTwin) -> Explained:
    """Compare what was seen with a twin of the same requests."""
    tries = list(_tries(seen, twin))
    least = min(one.spread for one in tries)
    close = [one for one in tries if one.spread <= 1.5 * least + CLOSE + seen.step / 4]
    return min(close, key=lambda one: (abs(one.slope.value) > one.half_width + SLIGHT, one.began_full, abs(one.slope.value)))


def _tries(seen: Seen, twin: ToldTwin) -> Iterator[Explained]:
    grown = twin.predicted - twin.predicted[0]
    for share in range(ROOMS, -1, -1):
        room = grown.max() * share / ROOMS
        with_room = twin.predicted[0] + np.maximum(np.minimum(grown, room), twin.grown_when_full)
        for late in LATE:
            yield _explained(seen, twin.predicted if share == ROOMS else with_room, late, began_full=share < ROOMS)


def _explained(seen: Seen, predicted: Values, late: int, *, began_full: bool) -> Explained:
    first = late + (WARM_UP if len(seen) > 2 * (WARM_UP + late) + 2 else 0)
    request = seen.request[first:]
    unexplained = seen.observed[first:] - predicted[first - late : len(predicted) - late]
    slope = theil_sen(request, unexplained)
    off = unexplained - slope.value * request
    return Explained(
        predicted=predicted,
        slope=slope,
        half_width=(slope.high - slope.low) / 2 + (seen.step if seen.step > 1 else 0) / max(1, len(seen) - 1),
        late=late,
        began_full=began_full,
        spread=float(np.median(np.abs(off - np.median(off)))),
    )
