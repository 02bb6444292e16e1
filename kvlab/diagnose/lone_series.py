"""A lone series: figures of a model's bytes by request, by second, or in their order, of which the requests' matches are not known.

Of all gauges the one with most figures is taken, and of its lifetimes the one that grew most. It has stopped growing where no later figure contradicts
that, and where a coarse print cannot have made it up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from kvlab.diagnose.finding import Number
from kvlab.diagnose.trend import Slope, theil_sen
from kvlab.lab.outlook import requests_until_full
from kvlab.recording.facts import Facts, Values
from kvlab.recording.facts.figures import as_printed, step_of
from kvlab.recording.facts.lifetimes import begins_anew, parts_between
from kvlab.recording.facts.owners import values
from kvlab.units import MIB

LEAST_FIGURES = 4
"""Figures below which neither a slope nor an end of it shows."""

LEVEL = 128 * MIB
"""Bytes by which figures of one level differ, with the step of their print."""

END = 1 / 3
"""The share of the requests for which growth must have stopped."""

RISES = LEVEL / 4
"""Bytes that figures of one level may rise by, together, when they rise steadily."""

LONGER = 2
"""How many times as long as it ever stayed at one print while it grew a coarse print must stay at its last one."""

LEAST_RISE = 4
"""Figures below which no steady rise shows."""


@dataclass(frozen=True, slots=True)
class LoneSeries:
    """Figures along requests, or along seconds where none are numbered, or in their order.

    Attributes:
        along: `request`, `second` or `figure`.
        gauge: What was read.
        x: The numbers of requests, the seconds or the places, shape (figures,).
        y: Bytes, shape (figures,).
        step: Bytes between a print and the next one that differs.
        fell_by: Bytes by which they fell after the last figure, when the model was unloaded then, else 0.
        lifetimes: The parts between unloads and restarts, of which this is one.
    """

    along: str
    gauge: str
    x: Values
    y: Values
    step: int
    fell_by: float = 0.0
    lifetimes: int = 1

    def __len__(self) -> int:
        return len(self.x)

    @property
    def grown(self) -> float:
        """Bytes from the first figure to the last."""
        return float(self.y[-1] - self.y[0])

    @property
    def stays_since(self) -> int | None:
        """The place from which it stays where it is; None when it does not."""
        since = plateau_since(self.x, self.y, self.step)
        return since if since < len(self) - 1 else None

    @property
    def slope(self) -> Slope:
        """Of the growth: up to where it stays, where that has figures enough."""
        since = self.stays_since
        end = since + 1 if since is not None and since >= LEAST_FIGURES - 1 else None
        return theil_sen(self.x[:end], self.y[:end])

    def numbers(self, budget: int) -> dict[str, Number]:
        """Return its figures, those of a budget among them that it may be filling."""
        since, slope, left = self.stays_since, self.slope, budget - self.grown
        numbers: dict[str, Number] = {
            "figures": len(self),
            "gauge": self.gauge,
            "step_bytes": self.step,
            "first_bytes": round(float(self.y[0])),
            "last_bytes": round(float(self.y[-1])),
            "growth_bytes": round(self.grown),
            f"growth_bytes_per_{self.along}": round(slope.value),
            "budget_bytes": budget,
            "predicted_plateau_bytes": round(float(self.y[0]) + budget) if left >= 0 else None,
            f"plateau_since_{self.along}": None if since is None else round(float(self.x[since])),
            f"{self.along}s_until_full": requests_until_full(left, slope.value) if since is None and left > 0 else None,
            f"last_{self.along}": round(float(self.x[-1])),
            "lifetimes": self.lifetimes,
            "past_budget_bytes": round(max(0.0, -left)),
        }
        return numbers | ({f"fell_after_{self.along}": round(float(self.x[-1])), "fell_by_bytes": round(self.fell_by)} if self.fell_by else {})

    def printed(self, count: float) -> str:
        """Return bytes as the figures are printed."""
        return as_printed(count, self.step)

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Return the first two, the middle and the last two figures."""
        count = len(self)
        return tuple(
            {self.along: float(self.x[at]), self.gauge: round(float(self.y[at]))}
            for at in sorted({0, min(1, count - 1), count // 2, max(0, count - 2), count - 1})
        )


def lone_series(facts: Facts) -> LoneSeries | None:
    """Return the lifetime that grew most of the gauge with most figures; None when there are no figures."""
    every = _most_figures(facts)
    return None if every is None else _most_grown(every, facts)


def _most_figures(facts: Facts) -> LoneSeries | None:
    read = {gauge: rows for gauge, rows in facts.charged.items() if rows.height}
    best: LoneSeries | None = None
    for gauge, rows in read.items():
        for along in ("request", "t"):
            figures = rows.sort("seq").unique(along, keep="last", maintain_order=True).sort(along)
            # a table's row 0 is the load; the samples of a probe outside requests are as many as it took
            if figures.height > (len(best) if best else 0) + (along == "t"):
                best = LoneSeries("request" if along == "request" else "second", gauge, values(figures, along), values(figures, "value"), step_of(figures))
    if read and (best is None or len(best) < LEAST_FIGURES):
        gauge, rows = max(read.items(), key=lambda one: one[1].height)
        if rows.height > (len(best) if best else 0):
            # neither requests nor moments are known: the order in which they were read
            best = LoneSeries("figure", gauge, np.arange(float(rows.height)), values(rows, "value"), step_of(rows))
    return best


def _most_grown(data: LoneSeries, facts: Facts) -> LoneSeries:
    edges = begins_anew(data.y, data.step)
    if data.along == "request":
        edges += [int(np.searchsorted(data.x, request, side="right")) for request in facts.restarts]
    parts = parts_between(edges, len(data))
    part = max(parts, key=lambda one: (one.stop - one.start >= LEAST_FIGURES, data.y[one.stop - 1] - data.y[one.start], one.stop - one.start))
    fell = float(data.y[part.stop - 1] - data.y[part.stop]) if part.stop < len(data) else 0.0
    return replace(data, x=data.x[part], y=data.y[part], fell_by=max(0.0, fell), lifetimes=len(parts))


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
    """Return for how long, in `x`, the figure ever stayed at one print before a place; what was before the growth began does not count where there is more."""
    edges = [0, *(np.flatnonzero(np.diff(y[: before + 1])) + 1).tolist()]
    stays = [float(x[last] - x[first]) for first, last in pairwise(edges)]
    return max(stays[1:] if len(stays) > 1 else stays, default=0.0)


def _rises(x: Values, y: Values) -> bool:
    if len(y) < LEAST_RISE:
        return False
    slope = theil_sen(x, y)
    return slope.low > 0 and slope.value * (x[-1] - x[0]) > RISES
