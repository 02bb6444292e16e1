"""Findings: one file a question, each with one function from Facts to a Finding, the most frequent question first, defects before all others.

Nothing here runs a model or reads an array; a recording is folded into Facts once (facts.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from kvlab.findings.budget_or_leak import budget_or_leak
from kvlab.findings.by_request import what_did_a_hit_allocate, which_request_holds_it
from kvlab.findings.facts import Given, facts
from kvlab.findings.finding import Evidence, Finding, Findings
from kvlab.findings.is_the_answer_right import is_the_answer_right
from kvlab.findings.what_survived_a_cancel import what_survived_a_cancel
from kvlab.findings.what_will_unload_give_back import what_will_unload_give_back
from kvlab.findings.which_budget import which_budget
from kvlab.findings.who_holds_it import do_the_parts_add_up, who_holds_it
from kvlab.findings.why_not_reused import why_not_reused
from kvlab.findings.why_slow import why_slow
from kvlab.findings.will_it_fit import will_it_fit
from kvlab.recording import Recording
from kvlab.recording.facts import Facts

__all__ = [
    "Evidence",
    "Finding",
    "Findings",
    "budget_or_leak",
    "diagnose",
    "do_the_parts_add_up",
    "facts",
    "is_the_answer_right",
    "what_did_a_hit_allocate",
    "what_survived_a_cancel",
    "what_will_unload_give_back",
    "which_budget",
    "which_request_holds_it",
    "who_holds_it",
    "why_not_reused",
    "why_slow",
    "will_it_fit",
]


def diagnose(recording: Recording | str | Path, *, checked: bool | None = None, **given: Unpack[Given]) -> Findings:
    """Return the answers to all questions about a recording, defects first, then the most frequent; one that cannot be answered says what to record.

    Args:
        recording: Of our own runs, of an import, or of a probe; or the path of one, or of what can be imported.
        checked: Whether every restored position was verified; by default the recording says so.
        given: What a user adds to it: `shape`, `policy`, `machine` (kvlab.findings.facts.Given).

    Raises:
        BadValue: it is no recording, no shape of that name is shipped, the policy is no version that is known, or the machine's size is no number of bytes.
        UnreadableInput: the shape's file cannot be read.
        NotAvailable: the shape's model keeps a cache that kvlab has no rules for.

    Example:
        >>> import kvlab
        >>> findings = kvlab.diagnose(kvlab.twin("smollm2").run("unrelated:15", progress=False))
        >>> findings.about("budget_or_leak").verdict
        'budget_filling'
    """
    known = facts(recording, **given)
    growth = budget_or_leak(known)
    answers = (
        growth,
        why_not_reused(known),
        what_did_a_hit_allocate(known, growth),
        who_holds_it(known),
        what_will_unload_give_back(known),
        will_it_fit(known),
        is_the_answer_right(known, checked=checked),
        which_budget(known, growth),
        why_slow(known),
        do_the_parts_add_up(known),
        which_request_holds_it(known, growth),
        what_survived_a_cancel(known),
    )
    found = sorted((finding for finding in answers if finding is not None), key=_gravity)
    if not known.recording.complete:
        # what the rest of the run would have shown is not known
        found = [replace(finding, confidence="medium") if finding.confidence == "high" else finding for finding in found]
    return Findings(tuple(found), (*known.recording.warnings, *_warnings(known, found)))


def _gravity(finding: Finding) -> int:
    return DEFECTS.index(finding.verdict) if finding.verdict in DEFECTS else len(DEFECTS)


def _warnings(known: Facts, found: list[Finding]) -> Iterator[str]:
    """Yield the source's own warnings that no finding speaks of, alike ones once."""
    said = " ".join(finding.summary for finding in found)
    alike: dict[str, list[tuple[int, str]]] = {}
    for request, message in known.warnings:
        alike.setdefault(_FIGURES.sub("#", message), []).append((request, message))
    for rows in list(alike.values())[:MOST_WARNINGS]:
        request, message = rows[0]
        if message not in said:
            where = f" (request {request})" if request else ""
            yield f"the source warns{where}: {message}" + (f" ({len(rows)} such warnings)" if len(rows) > 1 else "")


DEFECTS = ("wrong_state_restored", "leak", "heap_growth", "unexplained", "does_not_add_up", "process_left_behind", "does_not_fit", "budget_larger_than_machine")
"""Verdicts that come first, the gravest of them first: something is wrong or is about to be."""

MOST_WARNINGS = 5
"""Kinds of warnings that are repeated at most."""

_FIGURES = re.compile(r"\d[\d.,]*")
