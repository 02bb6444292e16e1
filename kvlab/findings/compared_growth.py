"""Growth of the model's bytes compared with a simulation of the same requests, under the known rules, else under every release's.

`leak`: the slope of unexplained bytes is more than its error (explained.py); of a process's bytes, half an `ARENA` in either half, too. Else what the
simulation says, with the smallest leak that would have shown; open only where that is as much as the growth that is explained.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from kvlab.findings.counted_growth import of_owners
from kvlab.findings.explained import ARENA, Explained, explained
from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.findings.simulated import RELEASES, counts_of, latest, releases, simulate
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Facts, Series, Values
from kvlab.recording.facts.figures import OF_PROCESS, as_printed
from kvlab.shape import Shape

Q = Question("budget_or_leak")

LEAST_SERIES, ENOUGH = 5, 15
"""Figures of a series below which growth cannot be separated from noise, and from which on an answer may be sure."""

SHARE_HELD = 0.1
"""The share of what is held that a leak may have grown by, unseen, in an answer that says that there is none."""

SURE, UNSURE = 0.1, 0.25
"""The shares of the bytes that may be unseen up to which, and from which on, an answer is sure or unsure."""

OF_ITSELF = ("observed_plateau", "unexplained", "unattributed")
"""Beginnings of the names of figures that a simulation has of itself: they are no observations."""


@lru_cache(maxsize=256)
def simulated_growth(counts: tuple[Counts, ...], shape: Shape, policy: Policy) -> tuple[Values, Values, Finding]:
    """Return what the rules would have reported after each request, its growth when the budget was full before, and the verdict on the simulation."""
    made = simulate(counts, shape, policy)
    return made.predicted, made.grown_when_full, of_owners(made.facts, made.facts.owners)


def of_series(facts: Facts) -> Finding | None:
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
    predicted, grown_when_full, of_rules = simulated_growth(series.counts, shape, policy)
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


def counted_by_rules(facts: Facts) -> tuple[int, int] | None:
    """Return the bytes that the cache counts after the same requests by the rules, and the most after any; None where something of that is not known."""
    shape, counts = facts.shape.value, counts_of(facts)
    if shape is None or not facts.policy.is_known or not counts:
        return None
    numbers = simulated_growth(counts, shape, facts.policy.value)[2].numbers
    last, most = numbers.get("counted_bytes"), numbers.get("largest_counted_bytes")
    return (last, most) if isinstance(last, int) and isinstance(most, int) else None
