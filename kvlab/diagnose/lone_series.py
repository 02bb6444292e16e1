"""A lone series: figures of a model's bytes by request, by second, or in their order, of which the requests' matches are not known.

Of all gauges the one with most figures is taken, and of its lifetimes the one that grew most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kvlab.diagnose.plateau import plateau_since
from kvlab.diagnose.trend import Slope, theil_sen
from kvlab.recording.facts import Facts, Values
from kvlab.recording.facts.figures import as_printed, step_of
from kvlab.recording.facts.lifetimes import begins_anew, parts_between
from kvlab.recording.facts.owners import values

LEAST_FIGURES = 4
"""Figures below which neither a slope nor an end of it shows."""


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
