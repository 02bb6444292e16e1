"""The verdict on bytes seen from outside, for the question `budget_or_leak`.

- `leak`: unexplained bytes grow by more than the error that is allowed for (explained.py), or the whole interval is above `LARGE`.
- what the twin of the same requests says (`budget`, `budget_filling`, `over_budget_by_design`, `no_growth`): the slope and its error leave
  no room for a leak of `LEAST_LEAK` a request, or only for one that coarse prints hide.
- `not_enough_data`: neither.
"""

from __future__ import annotations

from dataclasses import replace

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.outside.explained import Explained, explained
from kvlab.diagnose.outside.series_seen import Seen, as_printed
from kvlab.diagnose.outside.told_twin import told_twin
from kvlab.policy import Policy
from kvlab.shape import Shape
from kvlab.units import GB, binary

QUESTION = "budget_or_leak"

LEAST_REQUESTS = 5
"""Fewer figures have no trend that could be told from noise."""

LEAST_LEAK = 5_000_000
"""Bytes per request: the smallest leak that a verdict without `leak` excludes when figures are fine enough."""

LEAST_SLOPE = 4_000_000
"""Bytes per request: a smaller slope is called no leak, as the requests' earlier halves are guessed where only their counts are told."""

LARGE = 25_000_000
"""Bytes per request: a leak whose whole interval lies above is called, however wide it is (few requests of very different sizes)."""

COARSE = GB // 2
"""A step of prints from which on a verdict only says that nothing greater than the steps hide is there."""

OBSERVED = ("observed_plateau", "unexplained", "unattributed")
"""Beginnings of the names of figures that a simulation has of itself: they are no observations."""


def judged(seen: Seen, shape: Shape, policy: Policy) -> Finding:
    """Answer whether the bytes that were seen grow lawfully."""
    if seen.told is None:
        return not_enough_data(
            QUESTION, "The requests' matches with the cache are not told.", "Record the server's log at INFO: it has total, matched and cached."
        )
    if len(seen) < LEAST_REQUESTS:
        return not_enough_data(
            QUESTION, f"{len(seen)} requests have a figure of {seen.gauge} after them.", f"Record at least {LEAST_REQUESTS}; 15 show a trend."
        )
    twin = told_twin(seen.told, shape, policy)
    beside = explained(seen.request, seen.observed, seen.step, twin.predicted, twin.grown_when_full)
    numbers = _numbers(seen, beside)
    if _is_leak(beside):
        return _leak(seen, beside, numbers)
    if beside.at_most > LEAST_LEAK and not _as_coarse_as_shown(seen, beside):
        return _undecided(seen, beside, numbers)
    return _lawful(seen, beside, _begun_full(twin.finding) if beside.began_full else twin.finding, numbers)


def _is_leak(beside: Explained) -> bool:
    return (beside.slope.value > LEAST_SLOPE and beside.at_least > 0) or beside.slope.low - beside.hidden > LARGE


def _as_coarse_as_shown(seen: Seen, beside: Explained) -> bool:
    """Return whether only the steps of a coarse print keep a leak from being excluded: nothing was fitted, and the ends agree to a step."""
    off = float(seen.observed[-1] - seen.observed[0] - beside.predicted[-1] + beside.predicted[0])
    return seen.step >= COARSE and not beside.began_full and beside.slope.value <= beside.half_width and off <= seen.step


def _numbers(seen: Seen, beside: Explained) -> dict[str, Number]:
    return {
        "requests": len(seen),
        "gauge": seen.gauge,
        "step_bytes": seen.step,
        "observed_growth_bytes": round(float(seen.observed[-1] - seen.observed[0])),
        "predicted_growth_bytes": round(float(beside.predicted[-1] - beside.predicted[0])),
        "unexplained_slope_bytes_per_request": round(beside.slope.value),
        "unexplained_slope_low_bytes_per_request": round(beside.slope.low),
        "unexplained_slope_high_bytes_per_request": round(beside.slope.high),
        "half_width_bytes_per_request": round(beside.half_width),
        "least_leak_bytes_per_request": round(beside.at_least),
        "largest_leak_bytes_per_request": round(beside.at_most),
        "alternatives_compared": beside.alternatives,
        "late_by_requests": beside.late,
    }


def _leak(seen: Seen, beside: Explained, numbers: dict[str, Number]) -> Finding:
    return Finding(
        question=QUESTION,
        verdict="leak",
        summary=f"{_observed(seen)} grow by {binary(round(beside.slope.value))} per request beyond what a lawful cache holds after the same requests.",
        numbers=numbers,
        confidence="high" if len(seen) >= 15 else "medium",
        evidence=(_evidence(seen, beside),),
        refuted_by="a longer series of the same requests whose unexplained bytes stay where they are, or a prompt whose match was with something else",
    )


def _begun_full(twin: Finding) -> Finding:
    """Return the twin's answer for a budget that had less room at the first request than the requests fill."""
    if twin.verdict not in ("budget", "budget_filling"):
        return twin
    return replace(twin, verdict="budget", summary="The budget was full, or nearly, before the first of these requests.", numbers={})


def _lawful(seen: Seen, beside: Explained, lawful: Finding, numbers: dict[str, Number]) -> Finding:
    coarse = seen.step >= COARSE
    confidence: Confidence = "low" if coarse else "high" if len(seen) >= 15 else "medium"
    hides = binary(round(beside.at_most))
    hidden = f" Prints {binary(seen.step)} apart may hide a leak of up to {hides} per request: read bytes (/api/ps)." if coarse else ""
    # a twin's plateau is no observation: what was read since then is
    since = lawful.numbers.get("plateau_reached_at_request")
    read = seen.observed[since - 1 :] if isinstance(since, int) else seen.observed[:0]
    own = {"observed_plateau_bytes": round(float(read.max())), "observed_plateau_low_bytes": round(float(read.min()))} if len(read) else {}
    twin = lawful.summary.replace("; observed: ", "; its requests close at: ")
    return replace(
        lawful,
        summary=f"{_observed(seen)} went from {_print(seen, 0)} to {_print(seen, -1)}, as the twin of the same requests does. Of the twin: {twin}{hidden}",
        numbers={name: value for name, value in lawful.numbers.items() if not name.startswith(OBSERVED)} | numbers | own,
        confidence=confidence,
        evidence=(_evidence(seen, beside),),
    )


def _undecided(seen: Seen, beside: Explained, numbers: dict[str, Number]) -> Finding:
    lacks = (
        f"Unexplained bytes change by {binary(round(beside.slope.value))} per request, between {binary(round(beside.slope.low))} and "
        f"{binary(round(beside.slope.high))}: growth and noise cannot be told apart after {len(seen)} requests."
    )
    return replace(not_enough_data(QUESTION, lacks, "Record more requests, in bytes (/api/ps)."), numbers=numbers, evidence=(_evidence(seen, beside),))


def _observed(seen: Seen) -> str:
    return f"Observed bytes ({seen.gauge})"


def _print(seen: Seen, place: int) -> str:
    return as_printed(float(seen.observed[place]), seen.step)


def _evidence(seen: Seen, beside: Explained) -> Evidence:
    places = sorted({0, 1, len(seen) // 2, len(seen) - 2, len(seen) - 1})
    rows = [{"request": int(seen.request[at]), "observed": round(float(seen.observed[at])), "predicted": round(float(beside.predicted[at]))} for at in places]
    return Evidence("observed", tuple(rows))
