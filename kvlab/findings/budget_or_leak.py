"""Question 1: is it the budget or a leak, where does it stop, after how many requests?

`budget_or_leak` is the decision: the first of these that can answer does.

1. The cache's own owners, request by request, of our own runs (counted_growth.py).
2. `heap_growth`: a process grows while the server's list of its model does not (paired_growth.py).
3. The model's bytes compared with a simulation of the same requests (compared_growth.py).
4. What the cache counts, read alone (counted_growth.py); a prompt cache of entries under its own limit.
5. Figures alone (figures_growth.py).

A forecast is no verdict: an open answer only adds what the rules say.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import polars as pl

from kvlab.findings.compared_growth import counted_by_rules, of_series, simulated_growth
from kvlab.findings.counted_growth import of_counted, of_owners
from kvlab.findings.figures_growth import LEAST_FIGURES, of_figures
from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.growth import LEAST_REQUESTS, theil_sen
from kvlab.findings.paired_growth import paired_growth
from kvlab.findings.question import Question
from kvlab.findings.simulated import conversation, counts_of
from kvlab.policy import Policy
from kvlab.recording.facts import Facts
from kvlab.shape import Shape
from kvlab.units import binary

Q, GROWTH = Question("budget_or_leak"), Question("growth")

BOUNDED = ("budget", "budget_filling", "no_growth")
"""Verdicts that say that growth ends, at the budget at the latest."""

COUNTED = ("counted_bytes", "largest_counted_bytes", "over_budget_bytes")
"""Figures that the cache itself counts: where they were read, a simulation's do not take their place."""


def budget_or_leak(facts: Facts) -> Finding:
    """Answer whether the bytes of a recording grow as the rules say, and where that stops."""
    if facts.inside or len(facts.owners) >= LEAST_REQUESTS:
        return of_owners(facts, facts.owners)
    heap = paired_growth(facts)
    if heap is not None:
        return Q.found("heap_growth", heap.words(), heap.numbers(), heap.confidence, Evidence("observed", heap.rows()))
    simulated, counted = of_series(facts), of_counted(facts, counted_by_rules)
    # what the cache itself counts above its budget is not bounded, whatever the model's bytes do
    bounded_yet_over = counted is not None and counted.verdict not in BOUNDED and simulated is not None and simulated.verdict in BOUNDED
    if simulated is not None and not simulated.is_open and not bounded_yet_over:
        # what the cache itself counts was read: a simulation's figures are not shown for it
        return simulated if counted is None else replace(simulated, numbers=simulated.numbers | {name: counted.numbers[name] for name in COUNTED})
    # where a simulation leaves it open, figures alone cannot do better
    found = counted or simulated or _of_entries(facts) or of_figures(facts)
    return found if simulated is not None or not found.is_open else _with_rules(facts, found)


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


def _with_rules(facts: Facts, thin: Finding) -> Finding:
    """Return an open answer with what the rules make of the model: of the requests that are known, else of one long conversation."""
    shape = facts.shape.value
    if shape is None:
        return thin if facts.policy.how == "unknown" else replace(thin, summary=thin.summary + Q.say("shape_wanted", model=facts.model))
    counts = counts_of(facts)
    if counts:
        predicted, _, of_rules = simulated_growth(counts, shape, facts.policy.value)
        numbers: dict[str, Number] = {
            "simulated_requests": len(counts),
            "simulated_bytes_now": round(float(predicted[-1])),
            "simulated_growth_bytes": round(float(predicted[-1] - predicted[0])),
            "simulated_verdict": of_rules.verdict,
        }
        return replace(
            thin, numbers=thin.numbers | numbers, summary=thin.summary + Q.say("with_requests", numbers, model=shape.name, growth=GROWTH.say(of_rules.verdict))
        )
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
