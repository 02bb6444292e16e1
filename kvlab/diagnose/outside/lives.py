"""Where a model's life begins anew in a series of its bytes: an unload or a restart that only the figures tell.

Eviction takes a part of what has grown; what falls back to where it began was let go of as a whole.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kvlab.diagnose.trend import Values
from kvlab.units import GB

LEAST_FALL = GB // 2
"""Bytes below which a fall is a live buffer's or noise; a coarse print must fall by more than two steps."""

LEFT = 0.25
"""The share of the growth that may be there again when the first figure of a new life is read."""


def begins_anew(observed: Values, step: int) -> list[int]:
    """Return the places of the first figures after the model was unloaded, by the figures alone."""
    found: list[int] = []
    first = 0
    for place in range(1, len(observed)):
        life = observed[first:place]
        grown = float(life.max() - life[0])
        fell = float(observed[place - 1] - observed[place])
        if min(fell, grown) > max(LEAST_FALL, 2 * step) and observed[place] <= life[0] + LEFT * grown:
            found.append(place)
            first = place
    return found


def parts_between(edges: list[int], length: int) -> list[slice]:
    """Return the stretches between places where something begins anew, in order."""
    return [slice(first, last) for first, last in pairwise(sorted({0, *edges, length}))]


def with_no_match_near(places: list[int], matched: Values) -> list[int]:
    """Return the places whose request, or the one before when a figure is late, matched nothing, as after an unload."""
    return [place for place in places if np.any(matched[max(0, place - 1) : place + 1] == 0)]
