"""The verdict on bytes of a model by request or by time alone: nothing is told of what the requests matched, or the model's shape is not known.

Only the height and the end of the growth can be judged, so confidence is never high:

- `budget`: it stops, about a budget above where it began. `no_growth`: it stops elsewhere, or never began.
- `budget_filling`: it goes on, and what has grown still fits a budget. A leak of the same rate looks the same until then.
- `leak`: it goes on past the budget, under rules that are told and let nothing pass it. Where rules are not told or exempt the active path,
  `not_enough_data`: one long conversation may lawfully do the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.known import policy_of, policy_told, shape_of
from kvlab.diagnose.outside.lives import begins_anew, parts_between
from kvlab.diagnose.outside.plateau import LEVEL, plateau_since
from kvlab.diagnose.outside.series_seen import as_printed, charged_gauges, figures_of, restarts, step_of
from kvlab.diagnose.trend import Slope, Values, theil_sen
from kvlab.lab.outlook import requests_until_full
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.extremes import largest
from kvlab.units import binary

QUESTION = "budget_or_leak"

LEAST_FIGURES = 4
"""Figures below which neither a slope nor an end of it shows."""

NEAR = 0.15
"""The share of the budget by which a plateau may miss it: live buffers above it, branches that did not fit below it."""


@dataclass(frozen=True, slots=True)
class _Alone:
    """Figures along requests, or along seconds where none are numbered; `fell_by` after them, when the model was let go of then, else 0.

    `lives` are the parts between unloads and restarts, of which this is one.
    """

    along: str
    gauge: str
    x: Values
    y: Values
    step: int
    fell_by: float = 0.0
    lives: int = 1


def size_alone(recording: Recording) -> Finding | None:
    """Judge the figures alone; None when there are none."""
    every = _figures(recording)
    if every is None:
        return None
    data = _most_grown(every, recording)
    if len(data.x) < LEAST_FIGURES:
        told = ", ".join(as_printed(value, data.step) for value in data.y)
        lacks = f"{len(data.x)} figure{'s have' if len(data.x) > 1 else ' has'} no trend: {data.gauge} {told}."
        return not_enough_data(QUESTION, lacks, "Record /api/ps after each of 15 requests, and the server's log beside it: kvlab probe does both.")
    policy = policy_of(recording)
    budget, level = policy.budget_bytes, max(LEVEL, data.step)
    grown = float(data.y[-1] - data.y[0])
    since = plateau_since(data.x, data.y, data.step)
    slope = theil_sen(data.x[: since + 1] if since >= LEAST_FIGURES - 1 else data.x, data.y[: since + 1] if since >= LEAST_FIGURES - 1 else data.y)
    slack = NEAR * budget + data.step
    told = _outcome(recording, policy, grown, since, data, level, slack)
    numbers = _numbers(data, budget, grown, since, slope)
    if told == "not_enough_data":
        return _open(numbers, data, level)
    near = told == "budget" and float(data.x[-1] - data.x[since]) >= (data.x[-1] - data.x[0]) / 2
    return Finding(
        question=QUESTION,
        verdict=told,
        summary=_summary(told, numbers, data, since) + _ASSUMED[policy_told(recording) is None],
        numbers=numbers,
        confidence="medium" if near or (told == "no_growth" and len(data.x) >= 10 and data.step <= LEVEL) else "low",
        evidence=(_evidence(data),),
        refuted_by=_REFUTED_BY[told],
    )


def _figures(recording: Recording) -> _Alone | None:
    every = [(gauge, rows) for gauge in charged_gauges(recording) if (rows := figures_of(recording, gauge)).height]
    best: _Alone | None = None
    for gauge, rows in every:
        for along in ("request", "t"):
            read = rows.sort("seq").unique(along, keep="last", maintain_order=True).sort(along)
            # a table's row 0 is the load; the looks of a probe outside requests are as many as it took
            if read.height > (len(best.x) if best else 0) + (along == "t"):
                step = step_of(read)
                x, y = (read.get_column(name).cast(pl.Float64).to_numpy() for name in (along, "value"))
                best = _Alone("request" if along == "request" else "second", gauge, x, y, step)
    if (best is None or len(best.x) < LEAST_FIGURES) and every:
        gauge, rows = max(every, key=lambda one: one[1].height)
        if rows.height > (len(best.x) if best else 0):
            # neither requests nor moments are told: the order in which they stand
            step = step_of(rows)
            best = _Alone("figure", gauge, np.arange(float(rows.height)), rows.get_column("value").cast(pl.Float64).to_numpy(), step)
    return best


def _most_grown(data: _Alone, recording: Recording) -> _Alone:
    """Return the part of the figures that grew most, of those between unloads and restarts."""
    edges = begins_anew(data.y, data.step)
    if data.along == "request":
        edges += [int(np.searchsorted(data.x, request, side="right")) for request in restarts(recording)]
    parts = parts_between(edges, len(data.x))
    part = max(parts, key=lambda one: (one.stop - one.start >= LEAST_FIGURES, data.y[one.stop - 1] - data.y[one.start], one.stop - one.start))
    fell = float(data.y[part.stop - 1] - data.y[part.stop]) if part.stop < len(data.x) else 0.0
    return replace(data, x=data.x[part], y=data.y[part], fell_by=max(0.0, fell), lives=len(parts))


def _outcome(recording: Recording, policy: Policy, grown: float, since: int, data: _Alone, level: float, slack: float) -> str:
    if since < len(data.x) - 1:
        return "budget" if grown > level and abs(grown - policy.budget_bytes) <= slack else "no_growth"
    if grown <= level:
        # a whole step of a coarse print, up and not down again, is no level
        return "not_enough_data" if data.step > LEVEL and grown > 0 else "no_growth"
    if grown <= policy.budget_bytes + slack:
        return "budget_filling"
    live = _live_at_most(recording)
    known = policy_told(recording)
    after = data.y - data.y[0] > policy.budget_bytes + slack + live
    goes_on = int(after.sum()) >= LEAST_FIGURES and theil_sen(data.x[after], data.y[after]).low > 0
    lawful_path = known is None or known.protect == "active_path" or live == 0
    return "leak" if goes_on and not lawful_path else "not_enough_data"


def _live_at_most(recording: Recording) -> float:
    """Return what live buffers may add: those of a full context; 0 when shape or context is not known."""
    shape = shape_of(recording)
    contexts = recording.events.get_column("context").drop_nulls()
    context = int(largest(contexts))
    return float((shape.bytes_per_token * (context or shape.context)) if shape is not None else 0)


def _numbers(data: _Alone, budget: int, grown: float, since: int, slope: Slope) -> dict[str, Number]:
    stopped = since < len(data.x) - 1
    left = budget - grown
    numbers: dict[str, Number] = {
        "figures": len(data.x),
        "gauge": data.gauge,
        "step_bytes": data.step,
        "first_bytes": round(float(data.y[0])),
        "last_bytes": round(float(data.y[-1])),
        "growth_bytes": round(grown),
        f"growth_bytes_per_{data.along}": round(slope.value),
        "budget_bytes": budget,
        "predicted_plateau_bytes": round(float(data.y[0]) + budget) if data.y[-1] <= data.y[0] + budget else None,
        f"plateau_since_{data.along}": round(float(data.x[since])) if stopped else None,
        f"{data.along}s_until_full": requests_until_full(left, slope.value) if not stopped and left > 0 else None,
        f"last_{data.along}": round(float(data.x[-1])),
        "lives": data.lives,
        "past_budget_bytes": round(max(0.0, grown - budget)),
    }
    if data.fell_by:
        numbers |= {f"fell_after_{data.along}": round(float(data.x[-1])), "fell_by_bytes": round(data.fell_by)}
    return numbers


def _open(numbers: dict[str, Number], data: _Alone, level: float) -> Finding:
    grown = data.y[-1] - data.y[0]
    if grown <= level:
        lacks = f"{data.gauge} rose by {as_printed(grown, data.step)}, one step of its print: that is neither growth nor none.{_fell(data)}"
        thin = not_enough_data(QUESTION, lacks, "Record bytes (/api/ps), which show what a coarse print hides: kvlab probe does.")
    else:
        lacks = (
            f"{data.gauge} grew by {as_printed(grown, data.step)} to {as_printed(float(data.y[-1]), data.step)} and goes on, past the "
            f"{binary(float(str(numbers['budget_bytes'])))} of a snapshot budget: that alone does not explain it.{_fell(data)} "
            "One long conversation under rules that exempt the active path (Ollama up to 0.34), long live buffers and a leak look alike here."
        )
        thin = not_enough_data(QUESTION, lacks, "Record the server's log beside it (total, matched, cached), and name the model with --shape.")
    return replace(thin, numbers=numbers, evidence=(_evidence(data),), refuted_by="the server's log, whose twin says what a lawful cache holds")


def _fell(data: _Alone) -> str:
    if data.lives == 1:
        return ""
    if not data.fell_by:
        return f" The model was unloaded or restarted within the series: what is judged is {data.along} {data.x[0]:,.0f} to {data.x[-1]:,.0f}."
    return (
        f" It fell by {as_printed(data.fell_by, data.step)} after {data.along} {data.x[-1]:,.0f}, as by an unload or a restart: "
        "what is read from then on says nothing of the growth before."
    )


def _summary(told: str, numbers: dict[str, Number], data: _Alone, since: int) -> str:
    form = "budget_passed" if told == "budget_filling" and numbers["predicted_plateau_bytes"] is None else told
    words = _SUMMARIES[form].format(**_words(numbers))
    if told in ("budget", "no_growth") and data.step > LEVEL:
        stayed = max(1.0, float(data.x[-1] - data.x[since if since < len(data.x) - 1 else 0]))
        words += f" Prints {as_printed(data.step, data.step)} apart may hide up to {binary(data.step / stayed)} more per {data.along}: read bytes (/api/ps)."
    return words + _fell(data)


def _evidence(data: _Alone) -> Evidence:
    places = sorted({0, 1, len(data.x) // 2, len(data.x) - 2, len(data.x) - 1})
    return Evidence("observed", tuple({data.along: float(data.x[at]), data.gauge: round(float(data.y[at]))} for at in places))


def _words(numbers: dict[str, Number]) -> dict[str, str]:
    step = int(str(numbers["step_bytes"]))
    words: dict[str, str] = {
        name: as_printed(value, step) if "bytes" in name and isinstance(value, int | float) else str(value) for name, value in numbers.items()
    }
    words["budget_bytes"] = binary(int(str(numbers["budget_bytes"])))
    along = next(name.removeprefix("growth_bytes_per_") for name in numbers if name.startswith("growth_bytes_per_"))
    left = numbers[f"{along}s_until_full"]
    stopped, ends = numbers[f"plateau_since_{along}"], (words["first_bytes"], words["last_bytes"])
    grew = stopped is not None and isinstance(numbers["growth_bytes"], int) and abs(numbers["growth_bytes"]) > max(LEVEL, step)
    went = f"went from {ends[0]} to {ends[1]} and no longer changes since {along} {words[f'plateau_since_{along}']}"
    return words | {
        "went": went if grew else f"does not grow: {ends[0]} at first, {ends[1]} at last, {numbers['figures']} figures",
        "rate": f"{words[f'growth_bytes_per_{along}']} per {along}",
        "since": f"{along} {words[f'plateau_since_{along}']}" if numbers[f"plateau_since_{along}"] is not None else f"the last {along}",
        "left": f" It is full at about {along} {int(str(numbers[f'last_{along}'])) + int(str(left)):,}, {left:,} from now." if left is not None else "",
    }


_SUMMARIES = {
    "budget": (
        "{gauge} grew by {growth_bytes} ({rate}) and has stayed there since {since}: the growth is a budget of {budget_bytes} that "
        "filled, on top of {first_bytes}."
    ),
    "budget_filling": (
        "{gauge} grew by {growth_bytes} ({rate}), which a budget of {budget_bytes} still explains: expected plateau {predicted_plateau_bytes}.{left} "
        "A leak of the same rate looks the same until then."
    ),
    "budget_passed": (
        "{gauge} grew by {growth_bytes} ({rate}) to {last_bytes}, about as much as a budget of {budget_bytes} and live buffers explain, and has not "
        "stopped yet. A leak of the same rate looks the same until growth goes on."
    ),
    "no_growth": "{gauge} {went}.",
    "leak": "{gauge} grew by {growth_bytes} and goes on, {past_budget_bytes} past a budget of {budget_bytes} that these rules do not let anything pass.",
}
_ASSUMED = (" The requests' matches are not told.", " The requests' matches and the server's version are not told; Ollama's budget is assumed.")
_REFUTED_BY = {
    "budget": "further requests that lift it past the plateau, or a smaller budget that does not lower it",
    "budget_filling": "growth that goes on past the expected plateau",
    "no_growth": "growth during further requests of the same kind",
    "leak": "the server's log, when the twin of its requests holds as much",
}
