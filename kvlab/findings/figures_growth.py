"""Growth of figures alone: a lone series of a model's bytes by request, by second, or in their order, of which the requests' matches are not known.

Of all gauges the one with most figures is taken, and of its lifetimes the one that grew most. It has stopped growing where no later figure contradicts
that, and where a coarse print cannot have made it up.

`budget` when they stop about a budget above where they began, `no_growth` when they stop elsewhere or never began, `budget_filling` when what has
grown fits a budget, `leak` when they go on past it under known rules that let nothing pass it, or cost more per new token than any keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.growth import Slope, theil_sen
from kvlab.findings.question import Question, how_to_record
from kvlab.lab.outlook import requests_until_full
from kvlab.recording.facts import Facts, Values
from kvlab.recording.facts.figures import as_printed, step_of
from kvlab.recording.facts.lifetimes import begins_anew, parts_between
from kvlab.recording.facts.owners import values
from kvlab.units import MIB, binary

Q = Question("budget_or_leak")


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


NEAR_PLATEAU = 0.15
"""The share of the budget by which a plateau may miss it: live buffers above it, branches that did not fit below it."""

MOST_PER_TOKEN = MIB
"""Bytes per new token that no model's keys and values cost."""


def of_figures(facts: Facts) -> Finding:
    """Return the verdict on figures alone."""
    data = lone_series(facts)
    if data is None:
        return Q.open("model_series", facts)
    evidence = Evidence("observed", data.rows())
    if len(data) < LEAST_FIGURES:
        return Q.open("longer", facts, _few_words(facts, data)).with_figures({}, evidence)
    per_token = _per_new_token(facts, data)
    verdict = _of_height(facts, data, per_token)
    numbers = data.numbers(facts.policy.value.budget_bytes) | ({"growth_bytes_per_new_token": round(per_token)} if per_token is not None else {})
    if verdict == "not_enough_data":
        return _open_figures(facts, data).with_figures(numbers, evidence)
    since = data.stays_since
    near = verdict == "budget" and since is not None and float(data.x[-1] - data.x[since]) >= (data.x[-1] - data.x[0]) / 2
    sure: Confidence = "medium" if near or (verdict == "no_growth" and len(data) >= 10 and data.step <= LEVEL) else "low"
    return Q.found(verdict, _figure_words(facts, data, verdict, numbers), numbers, sure, evidence, refuted_by=f"figures_{verdict}")


def _few_words(facts: Facts, data: LoneSeries) -> str:
    budget, read = facts.policy.value.budget_bytes, ", ".join(data.printed(value) for value in data.y)
    few = Q.say("few_figures", count=len(data), have="s have" if len(data) > 1 else " has", gauge=data.gauge, read=read)
    fits = facts.policy.how != "unknown" and 0 < data.grown <= (1 + NEAR_PLATEAU) * budget and len(data) >= 3
    return few + Q.say("few_fit", budget=binary(budget), plateau=data.printed(float(data.y[0]) + budget)) if fits else few


def _figure_words(facts: Facts, data: LoneSeries, verdict: str, numbers: dict[str, Number]) -> str:
    """Return the sentence on figures alone, its bytes as the figures are printed."""
    left, place, last = numbers[f"{data.along}s_until_full"], data.stays_since, round(float(data.x[-1]))
    key = verdict
    if verdict == "no_growth" and place is not None and abs(data.grown) > max(LEVEL, data.step):
        key = "stays"
    elif verdict == "budget_filling" and numbers["predicted_plateau_bytes"] is None:
        key = "budget_passing"
    elif verdict == "leak" and "growth_bytes_per_new_token" in numbers:
        key = "leak_per_token"
    said = Q.say(
        f"figures_{key}",
        numbers,
        printed=data.printed,
        budget=binary(facts.policy.value.budget_bytes),
        since=f"{data.along} {numbers[f'plateau_since_{data.along}']}" if place is not None else f"the last {data.along}",
        grew=Q.say("grew", numbers, printed=data.printed, along=data.along, rate=data.printed(float(str(numbers[f"growth_bytes_per_{data.along}"])))),
        full=Q.say("figures_full_at", along=data.along, at=last + left, left=left) if isinstance(left, int) else "",
        same=Q.say("same_rate"),
        per_token=binary(float(str(numbers.get("growth_bytes_per_new_token", 0)))),
    )
    if verdict in ("budget", "no_growth") and data.step > LEVEL:
        stayed = max(1.0, float(data.x[-1] - data.x[0 if place is None else place]))
        said += Q.say("coarse", printed=data.printed, step_bytes=data.step, more=binary(data.step / stayed), along=data.along)
    unknown = ""
    if facts.policy.is_known or verdict == "no_growth":
        unknown = "" if facts.policy.how == "unknown" else Q.say("matches_unknown")
    else:
        unknown = Q.say("matches_and_version_unknown")
    return said + _fell(data) + unknown


def _fell(data: LoneSeries) -> str:
    if data.lifetimes == 1:
        return ""
    return Q.say("fell" if data.fell_by else "cut", printed=data.printed, along=data.along, first=data.x[0], last=data.x[-1], fell_bytes=data.fell_by)


def _open_figures(facts: Facts, data: LoneSeries) -> Finding:
    """Return the answer when figures alone decide nothing."""
    key, missing, how = "looks_alike", "matches", None
    if data.grown <= max(LEVEL, data.step):
        key, missing = "one_step", "finer_figures"
    elif facts.policy.how == "unknown":
        key, missing = "no_cache", "a_cache"
    elif facts.shape.value is None:
        how = f"{how_to_record('matches', facts)} {how_to_record('shape', facts)}"
    figures = {"grown_bytes": data.grown, "last_bytes": float(data.y[-1])}
    budget = binary(facts.policy.value.budget_bytes)
    lacks = Q.say(key, figures, printed=data.printed, gauge=data.gauge, budget=budget, fell=_fell(data))
    return replace(Q.open(missing, facts, lacks, how), refuted_by=Q.refutes("figures_open"))


def _of_height(facts: Facts, data: LoneSeries, per_token: float | None) -> str:
    budget, grown, level = facts.policy.value.budget_bytes, data.grown, max(LEVEL, data.step)
    slack = NEAR_PLATEAU * budget + data.step
    if data.stays_since is not None:
        return "budget" if facts.policy.how != "unknown" and grown > level and abs(grown - budget) <= slack else "no_growth"
    if grown <= level:
        # a whole step of a coarse print, up and not down again, is no level
        return "not_enough_data" if data.step > LEVEL and grown > 0 else "no_growth"
    if grown <= budget + slack:
        return "budget_filling" if facts.policy.how != "unknown" else "not_enough_data"
    if per_token is not None and per_token > MOST_PER_TOKEN:
        return "leak"
    shape = facts.shape.value
    live = float(shape.bytes_per_token * (facts.context or shape.context)) if shape is not None else 0.0
    after = data.y - data.y[0] > budget + slack + live
    goes_on = int(after.sum()) >= LEAST_FIGURES and theil_sen(data.x[after], data.y[after]).low > 0
    may_pass = not facts.policy.is_known or facts.policy.value.protect == "active_path" or live == 0
    return "leak" if goes_on and not may_pass else "not_enough_data"


def _per_new_token(facts: Facts, data: LoneSeries) -> float | None:
    """Return the bytes that grew per token generated meanwhile, where a table counts these from its first row on; None without them."""
    made = facts.numbers("generated_total")
    return data.grown / (made[-1] - made[0]) if len(made) > 1 and made[-1] > made[0] else None
