"""Where figures alone stop growing: a claim that no later figure contradicts, and that a coarse print cannot have made up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kvlab.diagnose.trend import Values, theil_sen
from kvlab.units import MIB

LEVEL = 128 * MIB
"""Bytes by which figures of one level differ, beside the step of their print."""

END = 1 / 3
"""The share of the requests for which growth must have stopped."""

RISES = LEVEL / 4
"""Bytes that figures of one level may rise by, together, when they rise steadily."""

LONGER = 2
"""How many times as long as it ever stayed at one print while it grew a coarse print must stay at its last one."""

LEAST_RISE = 4
"""Figures below which no steady rise shows."""


def plateau_since(x: Values, y: Values, step: int) -> int:
    """Return the place from which figures stay where they are to the end; the last place when they do not, or not for long enough."""
    none = len(y) - 1
    coarse = step > LEVEL
    later = np.maximum.accumulate(y[::-1])[::-1]
    reached = np.flatnonzero(y >= later - (0 if coarse else LEVEL))
    off = np.flatnonzero(np.abs(y - y[-1]) > max(LEVEL, step))
    since = max(int(reached[0]), int(off[-1]) + 1 if len(off) else 0)
    # after the last figure that is off the level its highest must have been reached, too
    since = int(next((place for place in reached if place >= since), none))
    if since >= none or x[-1] - x[since] < END * (x[-1] - x[0]):
        return none
    if coarse:
        return since if x[-1] - x[since] >= LONGER * _longest_stay(x, y, since) else none
    return none if _rises(x[since:], y[since:]) else since


def _longest_stay(x: Values, y: Values, before: int) -> float:
    """Return for how long, in `x`, the figure ever stayed at one print before a place; before the growth began does not count when more is told."""
    edges = [0, *(np.flatnonzero(np.diff(y[: before + 1])) + 1).tolist()]
    stays = [float(x[last] - x[first]) for first, last in pairwise(edges)]
    return max(stays[1:] if len(stays) > 1 else stays, default=0.0)


def _rises(x: Values, y: Values) -> bool:
    if len(y) < LEAST_RISE:
        return False
    slope = theil_sen(x, y)
    return slope.low > 0 and slope.value * (x[-1] - x[0]) > RISES
