"""Question 1: is it the budget or a leak, where does it stop, after how many requests?

The first of these that can answer does:

1. The cache's own owners, request by request, of our own runs. `leak`: unexplained bytes grow beyond what the allocator rounds up, over all requests or
   over the later half (a 95 % interval of the Theil-Sen slope wholly above `LEAST_SLOPE`; 0 for the twin, which is exact). Unexplained = observed -
   those of the twin of the same requests; without one, what snapshots pin or no owner names.
2. `heap_growth`: a process grows while the server's list of its model does not (paired_growth.py).
3. The model's bytes compared with a simulation of the same requests (explained.py), under the known rules, else under every release's. `leak`: the slope of
   unexplained bytes is more than its error, or its whole interval is above `LARGE`; of a process's bytes, this in either half, too. What the simulation
   says, when they leave no room for a leak of `LEAST_LEAK`, or only for one that coarse prints hide.
4. What the cache counts, read alone; a prompt cache of entries under its own limit.
5. Figures alone: `budget` when they stop about a budget above where they began, `no_growth` when they stop elsewhere or never began, `budget_filling` when
   what has grown fits a budget, `leak` when they go on past it under known rules that let nothing pass it, or cost more per new token than any keys and values.

Of counted bytes: above the budget at the end is `over_budget_by_design` when it grows or the rules hold as much, else `unexplained`; a full budget
(filling.py) is `budget`, growth towards it `budget_filling`, else `no_growth`. A forecast is no verdict: an open answer only adds what the rules say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
import polars as pl

from kvlab.diagnose import budget_words as words
from kvlab.diagnose.explained import Explained, explained, least_of_halves
from kvlab.diagnose.facts import RELEASES
from kvlab.diagnose.filling import Filling, filling
from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.lone_series import LEAST_FIGURES, LoneSeries, lone_series
from kvlab.diagnose.missing import unanswered
from kvlab.diagnose.paired_growth import paired_growth
from kvlab.diagnose.plateau import LEVEL
from kvlab.diagnose.rounding import LEAST_REQUESTS, LEAST_SLOPE, beyond_rounding
from kvlab.diagnose.simulated import conversation, counts_of, latest, simulate
from kvlab.diagnose.trend import NONE, Slope, theil_sen
from kvlab.lab.outlook import requests_until_full
from kvlab.lab.twin import lawful
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Facts, Owners, Series, Values
from kvlab.recording.facts.figures import OF_PROCESS
from kvlab.shape import Shape
from kvlab.units import GB, MIB

QUESTION = "budget_or_leak"

BOUNDED = ("budget", "budget_filling", "no_growth")
"""Verdicts that say that growth ends, at the budget at the latest."""

GRAVEST = ("unexplained", "over_budget_by_design", "budget", "budget_filling", "no_growth")
"""Verdicts on counted bytes, the gravest first: of a table's arms that one is the finding's."""

LEAST_SERIES = 5
"""Figures of a series below which growth cannot be told from noise."""

LEAST_LEAK = 5_000_000
"""Bytes per request: the smallest leak that a verdict without `leak` excludes when figures are fine enough."""

LEAST_SIMULATED = 4_000_000
"""Bytes per request: a smaller slope is called no leak, as the requests' earlier halves are guessed where only their counts are known."""

LARGE = 25_000_000
"""Bytes per request: a leak whose whole interval is above is called, however wide it is (few requests of very different sizes)."""

COARSE = GB // 2
"""A step of prints from which on a verdict only says that nothing greater than the steps hide is there."""

OF_ITSELF = ("observed_plateau", "unexplained", "unattributed")
"""Beginnings of the names of figures that a simulation has of itself: they are no observations."""

NEAR_COUNT = 0.1
"""The share by which a simulation of requests of which only the counts are known may be below what was counted."""

NEAR_PLATEAU = 0.15
"""The share of the budget by which a plateau may miss it: live buffers above it, branches that did not fit below it."""

MOST_PER_TOKEN = MIB
"""Bytes per new token that no model's keys and values cost."""

_COLUMNS = ("request", "counted", "live", "snapshots", "retained", "active", "unattributed", "budget", "predicted_counted", "predicted_live", "nodes")


def budget_or_leak(facts: Facts) -> Finding:
    """Answer whether the bytes of a recording grow as the rules say, and where that stops."""
    if facts.inside or len(facts.owners) >= LEAST_REQUESTS:
        return _of_owners(facts, facts.owners)
    heap = paired_growth(facts)
    if heap is not None:
        return Finding(QUESTION, "heap_growth", heap.words(), heap.numbers(), heap.confidence, (Evidence("observed", heap.rows()),), heap.refuted_by)
    simulated, counted = _of_series(facts), _of_counted(facts)
    if simulated is not None and not simulated.is_open and (counted is None or counted.verdict != "unexplained" or simulated.verdict not in BOUNDED):
        # what the cache itself counts was read: a simulation's figures are not shown for it
        return simulated if counted is None else replace(simulated, numbers=simulated.numbers | {name: counted.numbers[name] for name in words.COUNTED})
    # with a simulation growth and noise could not be told apart: figures alone cannot do better
    found = counted or simulated or _of_entries(facts) or _of_figures(facts)
    return found if simulated is not None or not found.is_open else _with_rules(facts, found)


def _of_owners(facts: Facts, data: Owners) -> Finding:
    if len(data) < LEAST_REQUESTS:
        lacks = f"{len(data)} requests have bytes read at their close; at least {LEAST_REQUESTS} have a trend, 15 unrelated ones show a budget well."
        return unanswered(QUESTION, "longer", facts, lacks)
    fill = filling(data)
    name, total = ("unexplained", data.unexplained) if data.unexplained is not None else _owned(facts, data)
    beyond = None if total is None else beyond_rounding(facts, data, total)
    slope, leaks = _leaking(data, beyond)
    if name != "unexplained" and not leaks:
        beyond = None
    # without a simulation the rules are known only of a run of our own: they are what ran
    allowed = facts.inside if data.predicted_counted is None else bool(data.predicted_counted[-1] > data.budget[-1])
    verdict = "leak" if leaks else _of_count(data, fill, allowed=allowed)
    numbers = _owner_numbers(data, fill) | {
        "unexplained_bytes": None if beyond is None or total is None else round(float(total[-1])),
        "unexplained_beyond_rounding_bytes": None if beyond is None else round(float(beyond[-1])),
        "unexplained_slope_bytes_per_request": None if beyond is None else round(slope.value, 1),
        "unexplained_slope_low_bytes_per_request": None if beyond is None else round(slope.low, 1),
        "unattributed_slope_bytes_per_request": None if data.unattributed is None else round(theil_sen(data.request, data.unattributed).value, 1),
    }
    if entries := facts.policy.value.store_entries:
        since = None if fill.limited is None else int(data.request[fill.limited])
        numbers |= {"most_entries": entries, "entries_full_at_request": since, "requests_until_full": None}
    if facts.damaged:
        numbers["damaged_parts"] = len(facts.recording.damaged)
    sure: Confidence = "low" if facts.damaged or len(data) < 5 or data.unexplained is None else "high" if len(data) >= 10 else "medium"
    rows = facts.requests.filter(pl.col("request").is_in(_deciding(data, fill))).select(_COLUMNS)
    return _finding(verdict, words.of_owners(verdict, numbers, name), numbers, sure, Evidence("requests", tuple(rows.to_dicts())))


def _owned(facts: Facts, data: Owners) -> tuple[str, Values | None]:
    """Return the bytes of the owner that grows where no simulation was recorded: what snapshots pin, or what no owner names."""
    if data.pinned is None or data.unattributed is None:
        return "unexplained", None
    pinned = theil_sen(data.request, beyond_rounding(facts, data, data.pinned))
    return ("pinned", data.pinned) if pinned.low > LEAST_SLOPE else ("unattributed", data.unattributed)


def _leaking(data: Owners, values: Values | None) -> tuple[Slope, bool]:
    """Return the slope of unexplained bytes, of all requests or of the later half, and whether it is a leak's."""
    if values is None:
        return NONE, False
    least = 0 if data.exact else LEAST_SLOPE
    slopes = [theil_sen(data.request[first:], values[first:]) for first in (0, len(data) // 2) if len(data) - first >= LEAST_REQUESTS]
    leaking = [slope for slope in slopes if slope.low > least]
    return (leaking[0], True) if leaking else (slopes[0] if slopes else NONE, False)


def _of_count(data: Owners, fill: Filling, *, allowed: bool) -> str:
    """Return the verdict on what the budget sees; `allowed` says that the rules are known to hold as much as was counted at the end."""
    if data.seen_by_budget[-1] > data.budget[-1]:
        return "over_budget_by_design" if allowed or _growth_above(data) else "unexplained"
    if fill.reached is not None:
        return "budget"
    return "budget_filling" if fill.grows else "no_growth"


def _growth_above(data: Owners) -> int:
    """Return by how much what the budget sees grows above it, in bytes per request; 0 when it stays."""
    above = np.flatnonzero(data.seen_by_budget > data.budget)
    slope = theil_sen(data.request[above], data.seen_by_budget[above])
    return round(slope.value) if slope.value > 0 and (len(above) < LEAST_REQUESTS or slope.low > 0) else 0


def _owner_numbers(data: Owners, fill: Filling) -> dict[str, Number]:
    seen, budget = data.seen_by_budget, data.budget
    numbers: dict[str, Number] = {
        "requests": len(data),
        "last_request": int(data.request[-1]),
        "budget_bytes": round(budget[-1]),
        "counted_bytes": round(seen[-1]),
        "growth_bytes_per_request": round(fill.growth.value),
        "largest_counted_bytes": round(seen.max()),
        "over_budget_bytes": round(max(0.0, seen[-1] - budget[-1])),
        "growth_above_budget_bytes_per_request": _growth_above(data),
        "evicting_requests": len(data.evicted_in),
        "plateau_reached_at_request": None if fill.reached is None else int(data.request[fill.reached]),
        "requests_until_full": None if fill.reached is not None else fill.requests_until_full(max(0.0, float(budget[-1] - seen[-1]))),
    }
    weights, held = data.weights, data.retained if data.exact else data.active
    if data.live is None or weights is None or held is None:
        return numbers
    numbers |= {
        "live_bytes": round(data.live[-1]),
        "live_growth_bytes": round(data.live[-1] - data.live[0]),
        "weights_bytes": round(weights[-1]),
        "predicted_plateau_bytes": round(weights[-1] + budget[-1] + (0 if data.counts_live else data.live[-1])),
        "observed_plateau_bytes": None,
        "observed_plateau_low_bytes": None,
    }
    if fill.reached is not None:
        after = slice(fill.reached, None)
        numbers |= {"observed_plateau_bytes": round(float(held[after].max())), "observed_plateau_low_bytes": round(float(held[after].min()))}
        if data.predicted_counted is not None and data.predicted_live is not None:
            numbers["twin_plateau_bytes"] = round(float((weights[after] + data.predicted_counted[after] + data.predicted_live[after]).max()))
    return numbers


def _deciding(data: Owners, fill: Filling) -> list[int]:
    """Return the requests that decide: the first two, those around the plateau's beginning, the last two."""
    places = {0, 1, len(data) - 2, len(data) - 1}
    if fill.reached is not None:
        places |= {fill.reached - 1, fill.reached} if fill.reached else {0}
    return [int(data.request[place]) for place in sorted(places)]


def _of_counted(facts: Facts) -> Finding | None:
    """Return the verdict on counted bytes alone, of a table's arms the gravest; None when fewer than `LEAST_REQUESTS` requests have them."""
    found = [_of_arm(facts, data) for data in facts.counted if len(data) >= LEAST_REQUESTS]
    return min(found, key=lambda finding: GRAVEST.index(finding.verdict), default=None)


def _of_arm(facts: Facts, data: Owners) -> Finding:
    fill = filling(data)
    verdict = _of_count(data, fill, allowed=_rules_allow(facts, data))
    numbers = _owner_numbers(data, fill) | {"arm": data.arm, "unexplained_slope_bytes_per_request": None}
    rows = tuple({"request": int(data.request[at]), "counted": round(float(data.counted[at]))} for at in sorted({0, len(data) // 2, len(data) - 1}))
    sure: Confidence = "medium" if len(data) >= 10 and facts.policy.is_known else "low"
    return _finding(verdict, words.of_counted(verdict, numbers, assumed=not facts.budget.is_known), numbers, sure, Evidence("requests", rows))


def _rules_allow(facts: Facts, data: Owners) -> bool:
    """Return whether the rules let a cache count as much above the budget after these requests, without growing."""
    if data.counted[-1] <= data.budget[-1]:
        return False
    shape, counts = facts.shape.value, counts_of(facts)
    if shape is not None and facts.policy.is_known and counts:
        simulated = _simulated(counts, shape, facts.policy.value)[2].numbers.get("counted_bytes")
        return isinstance(simulated, int) and simulated > (1 - NEAR_COUNT) * data.counted[-1]
    rose = np.flatnonzero(np.diff(data.counted) > 0)
    stays = data.request[rose[-1] + 2 if len(rose) else 1 :].astype(int)
    repeated = facts.requests.filter(pl.col("request").is_in(stays) & (pl.col("tokens") - pl.col("matched") <= 1))
    return facts.policy.is_known and facts.policy.value.protect == "active_path" and repeated.height == len(stays) > 0


@lru_cache(maxsize=256)
def _simulated(counts: tuple[Counts, ...], shape: Shape, policy: Policy) -> tuple[Values, Values, Finding]:
    """Return what the rules would have reported after each request, its growth when the budget was full before, and the verdict on the simulation."""
    made = simulate(counts, shape, policy)
    return made.predicted, made.grown_when_full, budget_or_leak(made.facts)


def _of_series(facts: Facts) -> Finding | None:
    """Return the verdict on the model's bytes compared with a simulation; None when there are no figures, no matches or no shape."""
    series, shape = next((one for one in facts.series if one.counts is not None), None), facts.shape.value
    if series is None or shape is None:
        return None
    return compare(latest(series), shape, facts.policy.value if facts.policy.is_known else None)


def compare(series: Series, shape: Shape, policy: Policy | None = None) -> Finding:
    """Answer from a series and a simulation of the same requests, under a policy, else under the newest release's rules that explain it.

    Without a policy `leak` is called only when no known rules explain what grows, and never surely: the server may follow rules that are not known.
    """
    if policy is not None:
        return _compared(series, shape, policy)
    found: list[Finding] = []
    for version, rules in _releases():
        finding = _compared(series, shape, rules)
        if finding.verdict != "leak" and not finding.is_open:
            return words.less_sure(finding, version)
        found.append(finding)
    return words.by_no_rules(found, RELEASES[-1])


def _releases() -> Iterator[tuple[str, Policy]]:
    """Yield the releases whose rules differ, the newest first."""
    tried: list[Policy] = []
    for version in RELEASES:
        policy = lawful(Policy.ollama(version))
        if policy not in tried:
            tried.append(policy)
            yield version, policy


def _compared(series: Series, shape: Shape, policy: Policy) -> Finding:
    if series.counts is None:
        return words.too_little(
            "matches", "The requests' matches with the cache were not recorded. Record the server's log at INFO: it has total, matched and cached."
        )
    if len(series) < LEAST_SERIES:
        lacks = f"{len(series)} requests have a figure of {series.gauge} after them. Record at least {LEAST_SERIES}; 15 show a trend."
        return words.too_little("longer", lacks)
    predicted, grown_when_full, of_rules = _simulated(series.counts, shape, policy)
    found = explained(series.request, series.observed, series.step, predicted, grown_when_full)
    places = sorted({0, 1, len(series) // 2, len(series) - 2, len(series) - 1})
    at = {"request": series.request, "observed": series.observed, "predicted": found.predicted}
    evidence = Evidence("observed", tuple({name: round(float(values[place])) for name, values in at.items()} for place in places))
    numbers = _series_numbers(series, found)
    leaks = (found.at_least > 0 and found.slope.value > LEAST_SIMULATED) or found.slope.low - found.hidden > LARGE
    if leaks and (series.gauge not in OF_PROCESS or least_of_halves(series.request, series.observed, series.step, predicted) > LARGE):
        return _finding("leak", words.of_leak(series, found), numbers, "high" if len(series) >= 15 else "medium", evidence, words.LONGER)
    coarse = series.step >= COARSE
    if found.at_most > LEAST_LEAK and not (coarse and _only_steps_hide(series, found)):
        return words.undecided(series, found).with_figures(numbers, evidence)
    if found.began_full and of_rules.verdict in ("budget", "budget_filling"):
        of_rules = replace(of_rules, verdict="budget", summary="The budget was full, or nearly, before the first of these requests.", numbers={})
    # a simulation's plateau is no observation: what was read since then is
    since = of_rules.numbers.get("plateau_reached_at_request")
    read = series.observed[since - 1 :] if isinstance(since, int) else series.observed[:0]
    own: dict[str, Number] = {"observed_plateau_bytes": round(float(read.max())), "observed_plateau_low_bytes": round(float(read.min()))} if len(read) else {}
    numbers = {name: value for name, value in of_rules.numbers.items() if not name.startswith(OF_ITSELF)} | numbers | own
    sure: Confidence = "low" if coarse else "high" if len(series) >= 15 else "medium"
    return _finding(of_rules.verdict, words.as_simulated(series, found, of_rules, coarse=coarse), numbers, sure, evidence, of_rules.refuted_by)


def _only_steps_hide(series: Series, found: Explained) -> bool:
    """Return whether only the steps of a coarse print keep a leak from being excluded: nothing was fitted, and the ends agree to a step."""
    off = float(series.observed[-1] - series.observed[0] - found.predicted[-1] + found.predicted[0])
    return not found.began_full and found.slope.value <= found.half_width and off <= series.step


def _series_numbers(series: Series, found: Explained) -> dict[str, Number]:
    return {
        "requests": len(series),
        "gauge": series.gauge,
        "step_bytes": series.step,
        "observed_growth_bytes": round(float(series.observed[-1] - series.observed[0])),
        "predicted_growth_bytes": round(float(found.predicted[-1] - found.predicted[0])),
        "unexplained_slope_bytes_per_request": round(found.slope.value),
        "unexplained_slope_low_bytes_per_request": round(found.slope.low),
        "unexplained_slope_high_bytes_per_request": round(found.slope.high),
        "half_width_bytes_per_request": round(found.half_width),
        "least_leak_bytes_per_request": round(found.at_least),
        "largest_leak_bytes_per_request": round(found.at_most),
        "alternatives_compared": found.alternatives,
        "late_by_requests": found.late,
    }


def _of_entries(facts: Facts) -> Finding | None:
    """Return the verdict on a prompt cache of entries, which counts by itself; None when none was read, or its growth cannot be judged."""
    rows = facts.figures("prompt_cache")
    if not rows.height:
        return None
    limit = facts.last.get("prompt_cache_limit")
    read = rows.get_column("value").cast(pl.Float64).to_numpy()
    held, slope = facts.parts.get("prompt_cache") or round(float(read[-1])), theil_sen(np.arange(float(len(read))), read)
    numbers: dict[str, Number] = {
        "figures": len(read),
        "gauge": "prompt_cache",
        "counted_bytes": held,
        "growth_bytes": round(float(read[-1] - read[0])),
        "growth_bytes_per_figure": round(slope.value),
        "limit_bytes": limit,
        "over_budget_bytes": max(0, held - limit) if limit is not None else None,
    }
    evidence = Evidence("observed", tuple(rows.select("request", "t", "value").gather(sorted({0, len(read) // 2, len(read) - 1})).to_dicts()))
    grows = len(read) >= LEAST_REQUESTS and slope.low > 0
    if limit is None and not (grows and held > facts.policy.value.budget_bytes):
        return None if len(read) >= LEAST_FIGURES else unanswered(QUESTION, "longer", facts, words.of_entries("", numbers)).with_figures(numbers, evidence)
    over = limit is None or held > limit
    verdict = "over_budget_by_design" if over else "budget_filling"
    return _finding(verdict, words.of_entries(verdict, numbers), numbers, "medium" if len(read) >= 5 else "low", evidence)


def _of_figures(facts: Facts) -> Finding:
    """Return the verdict on figures alone."""
    data = lone_series(facts)
    if data is None:
        return unanswered(QUESTION, "model_series", facts)
    if len(data) < LEAST_FIGURES:
        return unanswered(QUESTION, "longer", facts, words.too_few(data, facts)).with_figures({}, Evidence("observed", data.rows()))
    policy, per_token = facts.policy.value, _per_new_token(facts, data)
    verdict = _of_height(facts, data, per_token)
    numbers = _figure_numbers(facts, data) | ({"growth_bytes_per_new_token": round(per_token)} if per_token is not None else {})
    evidence = Evidence("observed", data.rows())
    if verdict == "not_enough_data":
        return words.open_figures(facts, data, policy.budget_bytes).with_figures(numbers, evidence)
    since = data.stays_since
    near = verdict == "budget" and since is not None and float(data.x[-1] - data.x[since]) >= (data.x[-1] - data.x[0]) / 2
    sure: Confidence = "medium" if near or (verdict == "no_growth" and len(data) >= 10 and data.step <= LEVEL) else "low"
    return _finding(verdict, words.of_figures(verdict, numbers, data, facts), numbers, sure, evidence, words.OF_FIGURES[verdict])


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


def _figure_numbers(facts: Facts, data: LoneSeries) -> dict[str, Number]:
    budget, since, slope = facts.policy.value.budget_bytes, data.stays_since, data.slope
    left = budget - data.grown
    numbers: dict[str, Number] = {
        "figures": len(data),
        "gauge": data.gauge,
        "step_bytes": data.step,
        "first_bytes": round(float(data.y[0])),
        "last_bytes": round(float(data.y[-1])),
        "growth_bytes": round(data.grown),
        f"growth_bytes_per_{data.along}": round(slope.value),
        "budget_bytes": budget,
        "predicted_plateau_bytes": round(float(data.y[0]) + budget) if data.y[-1] <= data.y[0] + budget else None,
        f"plateau_since_{data.along}": None if since is None else round(float(data.x[since])),
        f"{data.along}s_until_full": requests_until_full(left, slope.value) if since is None and left > 0 else None,
        f"last_{data.along}": round(float(data.x[-1])),
        "lifetimes": data.lifetimes,
        "past_budget_bytes": round(max(0.0, data.grown - budget)),
    }
    if data.fell_by:
        numbers |= {f"fell_after_{data.along}": round(float(data.x[-1])), "fell_by_bytes": round(data.fell_by)}
    return numbers


def _with_rules(facts: Facts, thin: Finding) -> Finding:
    """Return an open answer with what the rules make of the model: of the requests that are known, else of one long conversation."""
    shape = facts.shape.value
    if shape is None:
        return words.with_shape_wanted(thin, facts) if facts.policy.how != "unknown" else thin
    counts = counts_of(facts)
    if counts:
        predicted, _, of_rules = _simulated(counts, shape, facts.policy.value)
        return words.with_requests(thin, len(counts), shape.name, predicted, of_rules.verdict)
    if not shape.state_bytes:
        return words.with_conversation(thin, shape, {}, None)
    known = facts.policy.value if facts.policy.is_known else None
    rules = {"rules of its release": known} if known is not None else {"active path exempt": Policy(protect="active_path"), "upstream main": Policy()}
    return words.with_conversation(thin, shape, {name: _of_conversation(shape, rule) for name, rule in rules.items()}, known)


@lru_cache(maxsize=16)
def _of_conversation(shape: Shape, policy: Policy) -> str:
    return budget_or_leak(conversation(shape, policy)).verdict


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence, evidence: Evidence, refuted_by: str = "") -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, (evidence,), refuted_by or words.REFUTED_BY[verdict])
