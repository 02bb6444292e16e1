"""Question 1: is it the budget or a leak, where does it stop, after how many requests?

From the tables alone. Bytes are those read at each request's close. In this order:

- `leak`: unexplained bytes grow beyond what the allocator rounds up. Unexplained = observed - those of the twin of the same requests;
  of what snapshots retain above what they count, a share (`ROUNDING`, times counted) is taken for rounding. A Theil-Sen slope of the rest,
  over all requests or over the later half, has a 95 % interval wholly above `LEAST_SLOPE` (0 for a run of the twin, which is exact).
- `over_budget_by_design`: what the budget sees is above it at the end, and grows over the requests that are above it, or stays there as the rules let it:
  the simulation of the same requests is above it too.
- `unexplained`: it is above the budget at the end and stays there, and no rules that are known say why.
- `budget`: the budget is full (filling.py says at which request). From there on the bytes saw-tooth: what is evicted makes room for a branch, so
  the plateau is told as its highest close, which is what weights + live + budget predicts, and its lowest.
- `budget_filling`: what the budget sees grows, and is not full yet.
- `no_growth`: none of these. Live buffers that grew are named: they follow the longest request and are no reason for another verdict.
"""

from __future__ import annotations

import numpy as np

from kvlab.diagnose.filling import Filling, filling
from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.known import OWN
from kvlab.diagnose.series import Series, series
from kvlab.diagnose.trend import NONE, Slope, Values, theil_sen
from kvlab.recording import Recording
from kvlab.units import KIB, binary

QUESTION = "budget_or_leak"
LEAST_REQUESTS = 3
"""Fewer requests have no trend."""

BOUNDED = ("budget", "budget_filling", "no_growth")
"""Verdicts that say that growth ends, at the budget at the latest."""

LEAST_SLOPE = 4 * KIB
"""Unexplained bytes per request that a real run may gain: small objects that no owner names."""

ROUNDING = {"cpu": 0.1, "gpu": 1.0}
"""What snapshots may retain above what they count, as a share of it, by the model's device. MLX takes a free buffer of up to twice the size
asked for, and on a GPU rounds large ones up to a page; on a CPU 0.005 was measured."""

MOST_TOLD = 1_000_000
"""Requests until the budget is full; more are not told as a number."""

_COLUMNS = ("request", "counted", "live", "snapshots", "retained", "active", "unattributed", "budget", "predicted_counted", "predicted_live", "nodes")


def budget_or_leak(recording: Recording) -> Finding:
    """Answer whether the bytes of a recording grow lawfully, and where that stops."""
    data = series(recording)
    if len(data) < LEAST_REQUESTS:
        return not_enough_data(
            QUESTION,
            f"{len(data)} requests have bytes read at their close.",
            f"Record at least {LEAST_REQUESTS}; 15 unrelated requests show a budget well.",
        )
    fill = filling(data)
    beyond = None if data.unexplained is None else beyond_rounding(recording, data, data.unexplained)
    unexplained = _leaking(data, beyond)
    # without a simulation the rules are known only of a run of our own: they are what ran
    predicted = data.predicted_counted
    explained = recording.manifest.source in OWN if predicted is None else bool(predicted[-1] > data.budget[-1])
    verdict = verdict_of(data, fill, unexplained, explained=explained)
    numbers = _numbers(recording, data, fill, beyond, unexplained)
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=_SUMMARIES[verdict](numbers),
        numbers=numbers,
        confidence=_confidence(recording, data),
        evidence=(_evidence(recording, data, fill),),
        refuted_by=REFUTED_BY[verdict],
    )


def beyond_rounding(recording: Recording, data: Series, values: Values) -> Values:
    """Return unexplained or pinned bytes less what the allocator's rounding of snapshots may be."""
    if data.from_twin:
        return values
    return values - np.clip(data.snapshots - data.counted, 0, rounding_share(recording) * data.counted)


def rounding_share(recording: Recording) -> float:
    """Return what snapshots may retain above what they count, as a share of it, on the device of a recording; 0 for the twin, which is exact."""
    if recording.manifest.source == "twin":
        return 0.0
    return ROUNDING.get(str(recording.manifest.origin.get("device")), max(ROUNDING.values()))


def growth_words(name: str, total: float, beyond: float, slope: float, requests: int) -> str:
    """Return in words how bytes of `name` grow: all of them, what the allocator's rounding may be of that, and the slope of the rest."""
    if round(total) == round(beyond):
        return f"{name} bytes grow by {binary(slope)} per request, to {binary(total)} after {requests} requests"
    return (
        f"{name} bytes grow to {binary(total)} after {requests} requests; up to {binary(total - beyond)} of them may be the allocator's rounding of "
        f"snapshots, the other {binary(beyond)} grow by {binary(slope)} per request"
    )


def _leaking(data: Series, values: Values | None) -> tuple[Slope, bool]:
    """Return the slope of unexplained bytes, of all requests or of the later half, and whether it is a leak's."""
    if values is None:
        return NONE, False
    least = 0 if data.from_twin else LEAST_SLOPE
    slopes = [theil_sen(data.request[first:], values[first:]) for first in (0, len(data) // 2) if len(data) - first >= LEAST_REQUESTS]
    leaking = [slope for slope in slopes if slope.low > least]
    return (leaking[0], True) if leaking else (slopes[0] if slopes else NONE, False)


def verdict_of(data: Series, fill: Filling, unexplained: tuple[Slope, bool], *, explained: bool) -> str:
    """Return the verdict word.

    Args:
        data: The bytes, request by request.
        fill: How the budget filled.
        unexplained: The slope of unexplained bytes and whether it is a leak's.
        explained: The rules are known to hold as much as was counted at the end.
    """
    if unexplained[1]:
        return "leak"
    seen = data.seen_by_budget
    if seen[-1] > data.budget[-1]:
        return "over_budget_by_design" if explained or growth_above(data) else "unexplained"
    if fill.reached is not None:
        return "budget"
    return "budget_filling" if fill.grows else "no_growth"


def growth_above(data: Series) -> int:
    """Return by how much what the budget sees grows above it, in bytes per request; 0 when it stays."""
    seen = data.seen_by_budget
    above = np.flatnonzero(seen > data.budget)
    slope = theil_sen(data.request[above], seen[above])
    return round(slope.value) if slope.value > 0 and (len(above) < LEAST_REQUESTS or slope.low > 0) else 0


def _numbers(recording: Recording, data: Series, fill: Filling, beyond: Values | None, unexplained: tuple[Slope, bool]) -> dict[str, Number]:
    seen, budget = data.seen_by_budget, data.budget
    weights = data.retained - data.live - data.snapshots
    held = data.retained if data.from_twin else data.active
    numbers: dict[str, Number] = {
        "requests": len(data),
        "last_request": int(data.request[-1]),
        "budget_bytes": round(budget[-1]),
        "counted_bytes": round(seen[-1]),
        "growth_bytes_per_request": round(fill.growth.value),
        "largest_counted_bytes": round(seen.max()),
        "over_budget_bytes": round(max(0.0, seen[-1] - budget[-1])),
        "growth_above_budget_bytes_per_request": growth_above(data),
        "evicting_requests": len(data.evicted_in),
        "live_bytes": round(data.live[-1]),
        "live_growth_bytes": round(data.live[-1] - data.live[0]),
        "weights_bytes": round(weights[-1]),
        "predicted_plateau_bytes": round(weights[-1] + budget[-1] + (0 if data.counts_live else data.live[-1])),
        "observed_plateau_bytes": None,
        "observed_plateau_low_bytes": None,
        "plateau_reached_at_request": None,
        "requests_until_full": None if fill.reached is not None else fill.requests_until_full(max(0.0, float(budget[-1] - seen[-1]))),
        "unexplained_bytes": round(float(data.unexplained[-1])) if data.unexplained is not None else None,
        "unexplained_beyond_rounding_bytes": round(float(beyond[-1])) if beyond is not None else None,
        "unexplained_slope_bytes_per_request": round(unexplained[0].value, 1) if beyond is not None else None,
        "unexplained_slope_low_bytes_per_request": round(unexplained[0].low, 1) if beyond is not None else None,
        "unattributed_slope_bytes_per_request": round(theil_sen(data.request, data.unattributed).value, 1),
    }
    if fill.reached is not None:
        after = slice(fill.reached, None)
        numbers["plateau_reached_at_request"] = int(data.request[fill.reached])
        numbers["observed_plateau_bytes"] = round(float(held[after].max()))
        numbers["observed_plateau_low_bytes"] = round(float(held[after].min()))
        if data.predicted_counted is not None and data.predicted_live is not None:
            twin = weights[after] + data.predicted_counted[after] + data.predicted_live[after]
            numbers["twin_plateau_bytes"] = round(float(twin.max()))
    if recording.damaged:
        numbers["damaged_parts"] = len(recording.damaged)
    return numbers


def _confidence(recording: Recording, data: Series) -> Confidence:
    if recording.damaged or len(data) < 5 or data.unexplained is None:
        return "low"
    return "high" if len(data) >= 10 else "medium"


def _evidence(recording: Recording, data: Series, fill: Filling) -> Evidence:
    """Return the rows that decide: the first two, those around the plateau's beginning, the last two."""
    places = {0, 1, len(data) - 2, len(data) - 1}
    if fill.reached is not None:
        places |= {fill.reached - 1, fill.reached} if fill.reached else {0}
    chosen = [int(data.request[place]) for place in sorted(places)]
    rows = recording.requests.filter(recording.requests["request"].is_in(chosen)).select(_COLUMNS)
    return Evidence("requests", tuple(rows.to_dicts()))


def _bytes(numbers: dict[str, Number], name: str) -> str:
    value = numbers[name]
    return binary(value) if isinstance(value, int | float) else "unknown"


def _unexplained_words(numbers: dict[str, Number]) -> str:
    value = numbers["unexplained_slope_bytes_per_request"]
    if value is None:
        return "No twin was recorded beside it, so a leak below that cannot be excluded."
    if isinstance(value, int | float) and value <= 0:
        return "Unexplained bytes do not grow."
    return f"Unexplained beyond the allocator's rounding: {_bytes(numbers, 'unexplained_slope_bytes_per_request')} per request."


def _leak(numbers: dict[str, Number]) -> str:
    names = ("unexplained_bytes", "unexplained_beyond_rounding_bytes", "unexplained_slope_bytes_per_request", "requests")
    total, beyond, slope, requests = (float(str(numbers[name])) for name in names)
    return f"{growth_words('Unexplained', total, beyond, slope, round(requests))}: more than a lawful cache holds after the same requests."


def _above(numbers: dict[str, Number]) -> str:
    return (
        f"The budget counts {_bytes(numbers, 'counted_bytes')}, {_bytes(numbers, 'over_budget_bytes')} above the {_bytes(numbers, 'budget_bytes')} it allows, "
        f"and this {'grows' if numbers['growth_above_budget_bytes_per_request'] else 'stays'}: "
    )


def _over(numbers: dict[str, Number]) -> str:
    return f"{_above(numbers)}the policy protects what it would have to evict, as rules do that exempt the active path. {_unexplained_words(numbers)}"


def _unexplained(numbers: dict[str, Number]) -> str:
    return f"{_above(numbers)}the rules of its policy would have evicted it. {_unexplained_words(numbers)}"


def _budget(numbers: dict[str, Number]) -> str:
    return (
        f"Growth of {_bytes(numbers, 'growth_bytes_per_request')} per request stops at the budget of {_bytes(numbers, 'budget_bytes')}, full at request "
        f"{numbers['plateau_reached_at_request']}. Plateau predicted as weights + live + budget: {_bytes(numbers, 'predicted_plateau_bytes')}; observed: "
        f"{_plateau(numbers)}. " + _unexplained_words(numbers)
    )


def _filling(numbers: dict[str, Number]) -> str:
    return (
        f"Counted bytes grow by {_bytes(numbers, 'growth_bytes_per_request')} per request towards the budget of {_bytes(numbers, 'budget_bytes')}; "
        f"{_bytes(numbers, 'counted_bytes')} are counted. {until_full(numbers['requests_until_full'], int(str(numbers['last_request'])))}"
        f"Plateau predicted as weights + live + budget: {_bytes(numbers, 'predicted_plateau_bytes')}. " + _unexplained_words(numbers)
    )


def _plateau(numbers: dict[str, Number]) -> str:
    high, low = _bytes(numbers, "observed_plateau_bytes"), _bytes(numbers, "observed_plateau_low_bytes")
    return high if high == low else f"{low} to {high}"


def until_full(left: Number, last: int) -> str:
    """Return in words at which request a budget will be full, `left` requests after request `last`; "" when that is not known."""
    if not isinstance(left, int):
        return ""
    if left > MOST_TOLD:
        return f"It is not full within {MOST_TOLD:,} more such requests. "
    return f"It is full at about request {last + left:,}, {left:,} such request{'' if left == 1 else 's'} from now. "


def _none(numbers: dict[str, Number]) -> str:
    growth = numbers["live_growth_bytes"]
    live = f"Live buffers grew by {_bytes(numbers, 'live_growth_bytes')}, as the longest request needs. " if isinstance(growth, int) and growth > 0 else ""
    return f"After {numbers['requests']} requests {_bytes(numbers, 'counted_bytes')} are counted and no longer grow. {live}" + _unexplained_words(numbers)


_SUMMARIES = {
    "leak": _leak,
    "over_budget_by_design": _over,
    "unexplained": _unexplained,
    "budget": _budget,
    "budget_filling": _filling,
    "no_growth": _none,
}

REFUTED_BY = {
    "leak": "the same requests under the same policy, longer, with unexplained bytes that stay where they are",
    "over_budget_by_design": "what the budget counts falling back to the budget during further requests of the same kind",
    "unexplained": "rules of the server, or a simulation of the same requests, that hold as much above the budget",
    "budget": "further unrelated requests that lift the active bytes past the predicted plateau, or a smaller budget that does not lower the plateau",
    "budget_filling": "growth that goes on past the predicted plateau",
    "no_growth": "counted or unexplained bytes that rise during further requests of the same kind",
}
"""By verdict: what one would have to see for it to be wrong."""
