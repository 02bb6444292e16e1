"""A robust slope: the median of the slopes of all pairs of points (Theil-Sen), with Sen's interval.

A single jump, a first request that warms things up, or an outlier does not move it; growth that goes on does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from kvlab.recording.facts import Values

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
