"""What two findings of one report may not say together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kvlab.findings import Finding, Findings

BOUNDED = {"budget", "budget_filling", "no_growth"}
"""Verdicts on growth that say that it ends, at the budget at the latest."""

EXCLUDE = (
    ("budget_or_leak", BOUNDED, "who_holds_it", {"leak"}),
    ("budget_or_leak", {"heap_growth"}, "who_holds_it", {"adds_up"}),
    ("who_holds_it", {"adds_up"}, "do_the_parts_add_up", {"does_not_add_up"}),
    ("will_it_fit", {"does_not_fit"}, "which_budget", {"budget_filling"}),
    ("will_it_fit", {"fits"}, "which_budget", {"budget_larger_than_machine"}),
    ("which_budget", {"budget_filling"}, "why_slow", {"swap"}),
    ("budget_or_leak", {"unexplained"}, "which_budget", {"budget_filling"}),
)
"""Questions, and the verdicts on them that exclude each other."""

SAME = ("budget_bytes", "counted_bytes", "weights_bytes", "machine_bytes", "available_bytes", "held_bytes", "swap_used_bytes", "swap_growth_bytes")
"""Figures of the whole recording: findings that state one state the same."""


def contradictions(findings: Findings) -> list[str]:
    """Return each pair of statements that cannot both be true."""
    return [*_verdicts(findings), *_figures(findings), *_above_the_budget(findings), *_full_and_not(findings)]


def _verdicts(findings: Findings) -> Iterator[str]:
    by_question = {finding.question: finding for finding in findings}
    for first, excluded, second, by in EXCLUDE:
        pair = by_question.get(first), by_question.get(second)
        if pair[0] is not None and pair[1] is not None and pair[0].verdict in excluded and pair[1].verdict in by:
            yield f"{_said(pair[0])} | {_said(pair[1])}"


def _figures(findings: Findings) -> Iterator[str]:
    stated: dict[str, dict[object, Finding]] = defaultdict(dict)
    for finding in findings:
        for name in SAME:
            if finding.numbers.get(name) is not None:
                stated[name][finding.numbers[name]] = finding
    for name, values in stated.items():
        if len(values) > 1:
            yield f"{name}: " + " | ".join(f"{finding.question} {value}" for value, finding in values.items())


def _above_the_budget(findings: Findings) -> Iterator[str]:
    growth = findings.about("budget_or_leak")
    counted, budget = growth.numbers.get("counted_bytes"), growth.numbers.get("budget_bytes")
    above = isinstance(counted, int) and isinstance(budget, int) and counted > budget
    if growth.verdict in BOUNDED and (above or any("does not hold" in finding.summary for finding in findings)):
        yield f"{_said(growth)} | {counted} of {budget} bytes are counted"


def _full_and_not(findings: Findings) -> Iterator[str]:
    growth, suits = findings.about("budget_or_leak"), findings.about("which_budget")
    if growth.verdict == "budget" and "evicts nothing yet" in suits.summary:
        yield f"{_said(growth)} | {_said(suits)}"


def _said(finding: Finding) -> str:
    return f"{finding.question}: {finding.verdict}. {finding.summary}"
