"""Question 1: is it the budget or a leak, where does it stop, after how many requests?

The first of these that can answer does:

1. The cache's own owners, request by request, of our own runs. `leak`: unexplained bytes grow beyond what the allocator rounds up, over all requests or
   over the later half (a 95 % interval of the Theil-Sen slope wholly above `LEAST_SLOPE`; 0 for the twin, which is exact). Unexplained = observed -
   those of the twin of the same requests; without one, what snapshots pin or no owner names.
2. `heap_growth`: a process grows while the server's list of its model does not (paired_growth.py).
3. The model's bytes compared with a simulation of the same requests (explained.py), under the known rules, else under every release's. `leak`: the slope of
   unexplained bytes is more than its error; of a process's bytes, half an `ARENA` in either half, too. Else what the simulation says, with the smallest
   leak that would have shown; open only where that is as much as the growth that is explained.
4. What the cache counts, read alone; a prompt cache of entries under its own limit.
5. Figures alone: `budget` when they stop about a budget above where they began, `no_growth` when they stop elsewhere or never began, `budget_filling` when
   what has grown fits a budget, `leak` when they go on past it under known rules that let nothing pass it, or cost more per new token than any keys and values.

Of counted bytes: above the budget at the end is `over_budget_by_design` when it grows or the rules hold as much, else `unexplained`; a full budget
(growth.py) is `budget`, growth towards it `budget_filling`, else `no_growth`. A forecast is no verdict: an open answer only adds what the rules say.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import polars as pl

from kvlab.diagnose.explained import ARENA, Explained, explained
from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.growth import LEAST_REQUESTS, Filling, above_budget, filling, owner_numbers, unexplained_or_owned
from kvlab.diagnose.lone_series import LEAST_FIGURES, LEVEL, LoneSeries, lone_series
from kvlab.diagnose.missing import how_to_record
from kvlab.diagnose.paired_growth import paired_growth
from kvlab.diagnose.question import Question, capital
from kvlab.diagnose.simulated import RELEASES, conversation, counts_of, latest, releases, simulate
from kvlab.diagnose.trend import theil_sen
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Facts, Owners, Series, Values
from kvlab.recording.facts.figures import OF_PROCESS, as_printed
from kvlab.shape import Shape
from kvlab.units import MIB, binary

Q = Question("budget_or_leak")

BOUNDED = ("budget", "budget_filling", "no_growth")
"""Verdicts that say that growth ends, at the budget at the latest."""

GRAVEST = ("unexplained", "over_budget_by_design", "budget", "budget_filling", "no_growth")
"""Verdicts on counted bytes, the gravest first: of a table's arms that one is the finding's."""

LEAST_SERIES, ENOUGH = 5, 15
"""Figures of a series below which growth cannot be separated from noise, and from which on an answer may be sure."""

SHARE_HELD = 0.1
"""The share of what is held that a leak may have grown by, unseen, in an answer that says that there is none."""

SURE, UNSURE = 0.1, 0.25
"""The shares of the bytes that may be unseen up to which, and from which on, an answer is sure or unsure."""

OF_ITSELF = ("observed_plateau", "unexplained", "unattributed")
"""Beginnings of the names of figures that a simulation has of itself: they are no observations."""

NEAR_COUNT = 0.1
"""The share by which a simulation of requests of which only the counts are known may be below what was counted."""

NEAR_PLATEAU = 0.15
"""The share of the budget by which a plateau may miss it: live buffers above it, branches that did not fit below it."""

MOST_PER_TOKEN = MIB
"""Bytes per new token that no model's keys and values cost."""

COUNTED = ("counted_bytes", "largest_counted_bytes", "over_budget_bytes")
"""Figures that the cache itself counts: where they were read, a simulation's do not take their place."""

MOST_SHOWN = 1_000_000
"""Requests until the budget is full; more are not shown as a number."""

_COLUMNS = ("request", "counted", "live", "snapshots", "retained", "active", "unattributed", "budget", "predicted_counted", "predicted_live", "nodes")


def budget_or_leak(facts: Facts) -> Finding:
    """Answer whether the bytes of a recording grow as the rules say, and where that stops."""
    if facts.inside or len(facts.owners) >= LEAST_REQUESTS:
        return _of_owners(facts, facts.owners)
    heap = paired_growth(facts)
    if heap is not None:
        return Q.found("heap_growth", heap.words(), heap.numbers(), heap.confidence, Evidence("observed", heap.rows()))
    simulated, counted = _of_series(facts), _of_counted(facts)
    if simulated is not None and not simulated.is_open and (counted is None or counted.verdict != "unexplained" or simulated.verdict not in BOUNDED):
        # what the cache itself counts was read: a simulation's figures are not shown for it
        return simulated if counted is None else replace(simulated, numbers=simulated.numbers | {name: counted.numbers[name] for name in COUNTED})
    # with a simulation growth and noise could not be told apart: figures alone cannot do better
    found = counted or simulated or _of_entries(facts) or _of_figures(facts)
    return found if simulated is not None or not found.is_open else _with_rules(facts, found)


def _of_owners(facts: Facts, data: Owners) -> Finding:
    if len(data) < LEAST_REQUESTS:
        return Q.open("longer", facts, Q.say("few_closes", requests=len(data), least=LEAST_REQUESTS))
    fill, found = filling(data), unexplained_or_owned(facts, data)
    leaks = found is not None and found.leaks
    # without a simulation the rules are known only of a run of our own: they are what ran
    allowed = facts.inside if data.predicted_counted is None else bool(data.predicted_counted[-1] > data.budget[-1])
    verdict = "leak" if leaks else _of_count(data, fill, allowed=allowed)
    # bytes that were not compared with a simulation say nothing as long as they do not grow
    known = found if found is not None and (found.leaks or found.name == "unexplained") else None
    numbers = owner_numbers(data, fill) | {
        "unexplained_bytes": None if known is None else round(float(known.total[-1])),
        "unexplained_beyond_rounding_bytes": None if known is None else round(float(known.beyond[-1])),
        "unexplained_slope_bytes_per_request": None if known is None else round(known.slope.value, 1),
        "unexplained_slope_low_bytes_per_request": None if known is None else round(known.slope.low, 1),
        "unattributed_slope_bytes_per_request": None if data.unattributed is None else round(theil_sen(data.request, data.unattributed).value, 1),
    }
    if entries := facts.policy.value.store_entries:
        since = None if fill.limited is None else int(data.request[fill.limited])
        numbers |= {"most_entries": entries, "entries_full_at_request": since, "requests_until_full": None}
    if facts.damaged:
        numbers["damaged_parts"] = len(facts.recording.damaged)
    sure: Confidence = "low" if facts.damaged or len(data) < 5 or data.unexplained is None else "high" if len(data) >= 10 else "medium"
    # the requests that decide: the first two, those around the plateau's beginning, the last two
    places = {0, 1, len(data) - 2, len(data) - 1}
    if fill.reached is not None:
        places |= {max(0, fill.reached - 1), fill.reached}
    rows = facts.requests.filter(pl.col("request").is_in([int(data.request[place]) for place in places])).select(_COLUMNS)
    if leaks and known is not None:
        words = Q.say("leak_unexplained" if known.name == "unexplained" else "leak_owned", growth=known.words())
    else:
        words = _owner_words(verdict, numbers)
    return Q.found(verdict, words, numbers, sure, Evidence("requests", tuple(rows.to_dicts())))


def _owner_words(verdict: str, numbers: dict[str, Number]) -> str:
    slope, grew, reached = (numbers.get(name) for name in ("unexplained_slope_bytes_per_request", "live_growth_bytes", "plateau_reached_at_request"))
    high, low = (numbers.get(name) for name in ("observed_plateau_bytes", "observed_plateau_low_bytes"))
    observed = "" if reached is None else " to ".join(dict.fromkeys(binary(one) if isinstance(one, int) else "unknown" for one in (low, high)))
    rest = "rest_unknown" if not isinstance(slope, int | float) else "rest" if slope > 0 else "rest_none"
    return Q.say(
        verdict,
        numbers,
        above=Q.say("above", numbers, goes="grows" if numbers["growth_above_budget_bytes_per_request"] else "stays"),
        plateau=Q.say("plateau", numbers, predicted_plateau_bytes=numbers.get("predicted_plateau_bytes")),
        observed=observed,
        until_full=_entry_words(verdict, numbers) or until_full(numbers["requests_until_full"], int(str(numbers["last_request"]))),
        live_grew_bytes=grew if isinstance(grew, int) and grew > 0 else None,
        rest=Q.say(rest, numbers),
    )


def _entry_words(verdict: str, numbers: dict[str, Number]) -> str:
    """Return what a limit of entries does to growth; "" where there is none."""
    full = numbers.get("entries_full_at_request")
    if "most_entries" not in numbers or (verdict == "no_growth" and full is None):
        return ""
    does = "entries_evict" if verdict == "no_growth" else "entries_before" if full is None else "entries_larger"
    return Q.say("entries_kept", numbers) + Q.say(does, numbers)


def until_full(left: Number, last: int) -> str:
    """Return in words at which request a budget will be full, `left` requests after request `last`; "" when that is not known."""
    if not isinstance(left, int):
        return ""
    return Q.say("not_soon", left=MOST_SHOWN) if left > MOST_SHOWN else Q.say("full_at", request=last + left, left=left, s="" if left == 1 else "s")


def _of_count(data: Owners, fill: Filling, *, allowed: bool) -> str:
    """Return the verdict on what the budget sees; `allowed` says that the rules are known to hold as much as was counted at the end."""
    if data.seen_by_budget[-1] > data.budget[-1]:
        return "over_budget_by_design" if allowed or above_budget(data) else "unexplained"
    if fill.reached is not None:
        return "budget"
    return "budget_filling" if fill.grows else "no_growth"


def _of_counted(facts: Facts) -> Finding | None:
    """Return the verdict on counted bytes alone, of a table's arms the gravest; None when fewer than `LEAST_REQUESTS` requests have them."""
    found = [_of_arm(facts, data) for data in facts.counted if len(data) >= LEAST_REQUESTS]
    return min(found, key=lambda finding: GRAVEST.index(finding.verdict), default=None)


def _of_arm(facts: Facts, data: Owners) -> Finding:
    fill = filling(data)
    verdict = _of_count(data, fill, allowed=_rules_allow(facts, data))
    numbers = owner_numbers(data, fill) | {"arm": data.arm, "unexplained_slope_bytes_per_request": None}
    rows = tuple({"request": int(data.request[at]), "counted": round(float(data.counted[at]))} for at in sorted({0, len(data) // 2, len(data) - 1}))
    sure: Confidence = "medium" if len(data) >= 10 and facts.policy.is_known else "low"
    what = Q.say(
        f"counted_{verdict}",
        numbers,
        above=Q.say("counted_above", numbers, goes="and this grows" if numbers["growth_above_budget_bytes_per_request"] else "and stays there"),
        until_full=until_full(fill.until_full, int(data.request[-1])),
    ).rstrip()
    what = f"{data.arm.capitalize()}: {what}" if data.arm else capital(what)
    words = Q.say("counted", what=what, budget="" if facts.budget.is_known else Q.say("budget_assumed"))
    return Q.found(verdict, words, numbers, sure, Evidence("requests", rows))


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
    name_it = Q.say("name_it")
    for version, rules in releases():
        finding = _compared(series, shape, rules)
        if finding.verdict != "leak" and not finding.is_open:
            words = Q.say("version_fits", rules="upstream main" if version == "main" else f"Ollama {version}", name_it=name_it)
            return _less_sure(replace(finding, numbers=finding.numbers | {"version_that_fits": version}), words)
        found.append(finding)
    # open where one release's rules leave it open, else the newest one's leak
    still_open = next((finding for finding in found if finding.is_open), None)
    if still_open is not None:
        return replace(still_open, summary=still_open.summary + Q.say("version_unknown", name_it=name_it))
    return _less_sure(found[0], Q.say("no_version_fits", oldest=RELEASES[-1], name_it=name_it))


def _less_sure(finding: Finding, words: str) -> Finding:
    return replace(finding, summary=finding.summary + words, confidence="medium" if finding.confidence == "high" else finding.confidence)


def _compared(series: Series, shape: Shape, policy: Policy) -> Finding:
    if series.counts is None:
        return Q.open("matches", None, Q.say("no_matches"))
    if len(series) < LEAST_SERIES:
        return Q.open("longer", None, Q.say("few_in_series", requests=len(series), gauge=series.gauge, least=LEAST_SERIES))
    predicted, grown_when_full, of_rules = _simulated(series.counts, shape, policy)
    of_process = series.gauge in OF_PROCESS
    found = explained(series.request, series.observed, series.step, predicted, grown_when_full, of_process=of_process)
    places = sorted({0, 1, len(series) // 2, len(series) - 2, len(series) - 1})
    at = {"request": series.request, "observed": series.observed, "predicted": found.fit.predicted}
    evidence = Evidence("observed", tuple({name: round(float(values[place])) for name, values in at.items()} for place in places))
    numbers, enough = _series_numbers(series, found), len(series) >= ENOUGH
    if found.leaks:
        sure: Confidence = "high" if enough else "medium"
        return Q.found("leak", Q.say("leak_simulated", numbers), numbers, sure, evidence, refuted_by="leak_simulated")
    unseen, most = found.limit * float(series.request[-1] - series.request[0]), _most_unseen(series, predicted)
    # what a print hides is stated, and not held against the answer
    if unseen - series.step > most:
        return Q.open("longer", None, Q.say("undecided", numbers), Q.say("more_bytes")).with_figures(numbers, evidence)
    sure = "low" if unseen > UNSURE * most else "high" if unseen <= SURE * most and enough else "medium"
    if found.began_full and of_rules.verdict in ("budget", "budget_filling"):
        of_rules = replace(of_rules, verdict="budget", summary=Q.say("full_before"), numbers={})
    # a simulation's plateau is no observation: what was read since then is
    since = of_rules.numbers.get("plateau_reached_at_request")
    read = series.observed[since - 1 :] if isinstance(since, int) else series.observed[:0]
    own: dict[str, Number] = {"observed_plateau_bytes": round(float(read.max())), "observed_plateau_low_bytes": round(float(read.min()))} if len(read) else {}
    numbers = {name: value for name, value in of_rules.numbers.items() if not name.startswith(OF_ITSELF)} | numbers | own
    first, last = (as_printed(float(series.observed[place]), series.step) for place in (0, -1))
    # what nothing explains is said of what was read
    simulated = of_rules.summary.replace("; observed: ", "; its requests close at: ").removesuffix(Q.say("rest_none")).rstrip()
    words = Q.say("as_simulated", numbers, first=first, last=last, simulated=simulated)
    words += Q.say("heap_takes", numbers) if of_process and found.fit.leaks else ""
    words += Q.say("limit", numbers)
    return replace(of_rules, summary=words, numbers=numbers, confidence=sure, evidence=(evidence,))


def _most_unseen(series: Series, predicted: Values) -> float:
    """Return the bytes by which a leak may have grown unseen in an answer that still says something.

    As many as the rules predict: were they all a leak's, it would be no budget. Or a share of what is held, where they predict less. A process's heap
    may take half an `ARENA` with each request, too.
    """
    heap = ARENA / 2 * (series.request[-1] - series.request[0]) if series.gauge in OF_PROCESS else 0.0
    return max(float(np.ptp(predicted)), SHARE_HELD * float(series.observed[-1])) + heap


def _series_numbers(series: Series, found: Explained) -> dict[str, Number]:
    fit = found.fit
    return {
        "requests": len(series),
        "gauge": series.gauge,
        "step_bytes": series.step,
        "observed_growth_bytes": round(float(series.observed[-1] - series.observed[0])),
        "predicted_growth_bytes": round(float(fit.predicted[-1] - fit.predicted[0])),
        "unexplained_slope_bytes_per_request": round(fit.slope.value),
        "unexplained_slope_low_bytes_per_request": round(fit.slope.low),
        "unexplained_slope_high_bytes_per_request": round(fit.slope.high),
        "least_leak_bytes_per_request": round(fit.at_least),
        "largest_leak_bytes_per_request": round(found.limit),
        "largest_leak_bytes": round(found.limit * float(series.request[-1] - series.request[0])),
        "predictions_compared": found.predictions,
        "late_by_requests": fit.late,
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
        words = Q.say("entries_once" if len(read) == 1 else "entries", numbers)
        return None if len(read) >= LEAST_FIGURES else Q.open("longer", facts, words).with_figures(numbers, evidence)
    sure: Confidence = "medium" if len(read) >= 5 else "low"
    if limit is not None and held <= limit:
        return Q.found("budget_filling", Q.say("entries_filling", numbers), numbers, sure, evidence)
    return Q.found("over_budget_by_design", Q.say("entries_grow" if limit is None else "entries_above", numbers), numbers, sure, evidence)


def _of_figures(facts: Facts) -> Finding:
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


def _with_rules(facts: Facts, thin: Finding) -> Finding:
    """Return an open answer with what the rules make of the model: of the requests that are known, else of one long conversation."""
    shape = facts.shape.value
    if shape is None:
        return thin if facts.policy.how == "unknown" else replace(thin, summary=thin.summary + Q.say("shape_wanted", model=facts.model))
    counts = counts_of(facts)
    if counts:
        predicted, _, of_rules = _simulated(counts, shape, facts.policy.value)
        numbers: dict[str, Number] = {
            "simulated_requests": len(counts),
            "simulated_bytes_now": round(float(predicted[-1])),
            "simulated_growth_bytes": round(float(predicted[-1] - predicted[0])),
            "simulated_verdict": of_rules.verdict,
        }
        return replace(thin, numbers=thin.numbers | numbers, summary=thin.summary + Q.say("with_requests", numbers, model=shape.name))
    known = facts.policy.value if facts.policy.is_known else None
    rules = {"rules_of_its_release": known} if known is not None else {"active_path_exempt": Policy(protect="active_path"), "upstream_main": Policy()}
    numbers = {"whole_state_bytes": shape.state_bytes, "bytes_per_token": shape.bytes_per_token}
    if not shape.state_bytes:
        return replace(thin, numbers=thin.numbers | numbers, summary=thin.summary + Q.say("no_states", numbers, model=shape.name))
    exempt = next((rule for rule in rules.values() if rule.protect == "active_path"), None)
    words = Q.say("states", numbers, model=shape.name)
    words += Q.say("exempt", budget=binary(exempt.budget_bytes)) if exempt is not None else ""
    words += Q.say("not_exempt") if exempt is None or known is None else ""
    numbers |= {f"conversation_verdict_{name}": _of_conversation(shape, rule) for name, rule in rules.items()}
    return replace(thin, numbers=thin.numbers | numbers, summary=thin.summary + words)


@lru_cache(maxsize=16)
def _of_conversation(shape: Shape, policy: Policy) -> str:
    return budget_or_leak(conversation(shape, policy)).verdict
