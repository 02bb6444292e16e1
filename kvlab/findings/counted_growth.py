"""Growth of the cache's own owners and of what it counts: towards the budget, at it, above it, or none.

`leak`: unexplained bytes of the owners grow beyond what the allocator rounds up, over all requests or over the later half (a 95 % interval of the
Theil-Sen slope wholly above `LEAST_SLOPE`; 0 for the twin, which is exact). Unexplained = observed - those of the twin of the same requests; without
one, what snapshots pin or no owner names.

Of counted bytes: above the budget at the end is `over_budget_by_design` when it grows or the rules hold as much, else `unexplained`, and so is what was
above it before and came back without rules that explain it; a full budget (growth.py) is `budget`, growth towards it `budget_filling`, else `no_growth`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.growth import LEAST_REQUESTS, Filling, above_budget, filling, owner_numbers, theil_sen, unexplained_or_owned
from kvlab.findings.question import Question, capital
from kvlab.recording.facts import Facts, Owners
from kvlab.units import binary

Q = Question("budget_or_leak")

GRAVEST = ("unexplained", "over_budget_by_design", "budget", "budget_filling", "no_growth")
"""Verdicts on counted bytes, the gravest first: of a table's arms that one is the finding's."""

NEAR_COUNT = 0.1
"""The share by which a simulation of requests of which only the counts are known may be below what was counted."""

FAR_BELOW = 0.5
"""The share of an assumed budget below which evictions show that the budget is another one."""

ByRules = Callable[[Facts], tuple[int, int] | None]
"""What a simulation of the requests counts after them, and at most; None where it cannot be made."""

MOST_SHOWN = 1_000_000
"""Requests until the budget is full; more are not shown as a number."""

_COLUMNS = ("request", "counted", "live", "snapshots", "retained", "active", "unattributed", "budget", "predicted_counted", "predicted_live", "nodes")


def of_owners(facts: Facts, data: Owners) -> Finding:
    """Return the verdict on the cache's own owners."""
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


def of_counted(facts: Facts, counted_by_rules: ByRules) -> Finding | None:
    """Return the verdict on counted bytes alone, of a table's arms the gravest; None when fewer than `LEAST_REQUESTS` requests have them."""
    found = [_of_arm(facts, data, counted_by_rules) for data in facts.counted if len(data) >= LEAST_REQUESTS]
    return min(found, key=lambda finding: GRAVEST.index(finding.verdict), default=None)


def _of_arm(facts: Facts, data: Owners, counted_by_rules: ByRules) -> Finding:
    fill = filling(data)
    came_back = data.counted[-1] <= data.budget[-1] and not _peak_allowed(facts, data, counted_by_rules)
    verdict = "unexplained" if came_back else _of_count(data, fill, allowed=_rules_allow(facts, data, counted_by_rules))
    numbers = owner_numbers(data, fill) | {"arm": data.arm, "unexplained_slope_bytes_per_request": None}
    rows = tuple({"request": int(data.request[at]), "counted": round(float(data.counted[at]))} for at in sorted({0, len(data) // 2, len(data) - 1}))
    sure: Confidence = "medium" if len(data) >= 10 and facts.policy.is_known else "low"
    simulated = counted_by_rules(facts) if verdict == "unexplained" else None
    named = [Q.say(f"name_{what}") for what, known in (("release", facts.policy), ("shape", facts.shape)) if not known.is_known]
    goes = "grows" if numbers["growth_above_budget_bytes_per_request"] else "falls" if _falls(data) else "stays there"
    # what evictions keep far below an assumed budget has another one
    smaller = verdict == "budget" and not facts.budget.is_known and data.counted.max() < FAR_BELOW * data.budget.max()
    what = Q.say(
        "counted_smaller_budget" if smaller else f"counted_{verdict}",
        numbers,
        above=Q.say("counted_passed", numbers, request=int(data.request[data.counted.argmax()])) if came_back else Q.say("counted_above", numbers, goes=goes),
        simulated_counted_bytes=None if simulated is None else simulated[1],
        name=f"Name {' and '.join(named)}" if named and simulated is None else None,
        until_full=until_full(fill.until_full, int(data.request[-1])),
    ).rstrip()
    what = f"{data.arm.capitalize()}: {what}" if data.arm else capital(what)
    words = Q.say("counted", what=what, budget="" if facts.budget.is_known or smaller else Q.say("budget_assumed"))
    return Q.found(verdict, words, numbers, sure, Evidence("requests", rows))


def _falls(data: Owners) -> bool:
    since = int(data.counted.argmax())
    return len(data) - since >= LEAST_REQUESTS and theil_sen(data.request[since:], data.counted[since:]).high < 0


def _peak_allowed(facts: Facts, data: Owners, counted_by_rules: ByRules) -> bool:
    """Return whether the rules let a cache count as much as it ever did, clearly above the budget; true when it did not."""
    most = float(data.counted.max())
    if most <= (1 + NEAR_COUNT) * data.budget.max():
        return True
    simulated = counted_by_rules(facts)
    if simulated is not None:
        return simulated[1] > (1 - NEAR_COUNT) * most
    # the active path of a conversation, which the next one leaves
    return facts.policy.is_known and facts.policy.value.protect == "active_path" and bool(facts.requests.get_column("matched").fill_null(1).max())


def _rules_allow(facts: Facts, data: Owners, counted_by_rules: ByRules) -> bool:
    """Return whether the rules let a cache count as much above the budget after these requests, without growing."""
    if data.counted[-1] <= data.budget[-1]:
        return False
    simulated = counted_by_rules(facts)
    if simulated is not None:
        return simulated[0] > max(data.budget[-1], (1 - NEAR_COUNT) * data.counted[-1])
    rose = np.flatnonzero(np.diff(data.counted) > 0)
    stays = data.request[rose[-1] + 2 if len(rose) else 1 :].astype(int)
    repeated = facts.requests.filter(pl.col("request").is_in(stays) & (pl.col("tokens") - pl.col("matched") <= 1))
    return facts.policy.is_known and facts.policy.value.protect == "active_path" and repeated.height == len(stays) > 0
