"""Findings from a recording's tables and the shape and policy in its manifest: one file a question, the most asked first.

Nothing here runs a model or reads an array. The package can be called like its function `diagnose`, so that
`kvlab.diagnose(recording)` works whether or not the package was imported before.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from kvlab.diagnose.budget_or_leak import BOUNDED, budget_or_leak
from kvlab.diagnose.do_the_parts_add_up import do_the_parts_add_up
from kvlab.diagnose.finding import Evidence, Finding
from kvlab.diagnose.findings import Findings
from kvlab.diagnose.is_the_answer_right import is_the_answer_right
from kvlab.diagnose.known import OWN, with_policy, with_shape
from kvlab.diagnose.per_capture import per_capture
from kvlab.diagnose.what_did_a_hit_allocate import has_hits, what_did_a_hit_allocate
from kvlab.diagnose.what_survived_a_cancel import what_survived_a_cancel
from kvlab.diagnose.what_will_unload_give_back import what_will_unload_give_back
from kvlab.diagnose.which_budget import which_budget
from kvlab.diagnose.which_request_holds_it import which_request_holds_it
from kvlab.diagnose.who_holds_it import who_holds_it
from kvlab.diagnose.why_not_reused import why_not_reused
from kvlab.diagnose.why_slow import why_slow
from kvlab.diagnose.will_it_fit import will_it_fit
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape

__all__ = [
    "Evidence",
    "Finding",
    "Findings",
    "budget_or_leak",
    "diagnose",
    "do_the_parts_add_up",
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


def diagnose(
    recording: Recording,
    *,
    checked: bool | None = None,
    shape: Shape | str | Path | Mapping[str, Any] | None = None,
    policy: Policy | str | None = None,
) -> Findings:
    """Return the answers to all questions about a recording, the most asked first; one that cannot be answered says what to record.

    Args:
        recording: Of our own runs, of an import, or of a probe.
        checked: Whether every restored position was checked; by default the recording is asked.
        shape: The model's shape, when the recording does not name a model that is shipped: a shipped name, a config.json, a folder, or a Shape.
        policy: The server's rules, when the recording does not tell its version: a release such as `0.32.5`, `main`, or a Policy.

    Raises:
        BadValue: no shape of that name is shipped, or the policy is no version that is known.
        UnreadableInput: the shape's file cannot be read.
        NotAvailable: the shape's model keeps a cache that kvlab has no rules for.
    """
    if shape is not None:
        recording = with_shape(recording, shape)
    if policy is not None:
        recording = with_policy(recording, policy)
    held = who_holds_it(recording)
    growth = _agreeing(_growth(recording), held)
    found = [
        growth,
        why_not_reused(recording),
        replace(held, numbers=held.numbers | per_capture(recording)),
        what_will_unload_give_back(recording),
        will_it_fit(recording),
        is_the_answer_right(recording, checked=checked),
        which_budget(recording),
        why_slow(recording),
        do_the_parts_add_up(recording),
    ]
    if has_hits(recording):
        found.insert(2, what_did_a_hit_allocate(recording, growth))
    if not recording.spans.is_empty():
        found.append(which_request_holds_it(recording, growth))
    if (recording.requests["stop"] == "cancelled").any():
        found.append(what_survived_a_cancel(recording))
    if not recording.complete:
        # what the rest of the run would have shown is not known
        found = [replace(finding, confidence="medium") if finding.confidence == "high" else finding for finding in found]
    return Findings(tuple(found), recording.warnings)


def _growth(recording: Recording) -> Finding:
    """Answer from the cache's own bytes where they were read, else from what was seen from outside."""
    from kvlab.diagnose.outside import from_outside  # its twins are wanted only here

    inside = budget_or_leak(recording)
    return from_outside(recording) if inside.verdict == "not_enough_data" and recording.manifest.source not in OWN else inside


def _agreeing(growth: Finding, held: Finding) -> Finding:
    """Return the answer on growth: a leak where an owner holds more and more, which totals without a simulation do not show."""
    if held.verdict != "leak" or growth.verdict not in BOUNDED:
        return growth
    return replace(held, question=growth.question, numbers=growth.numbers | held.numbers)


class _Asked(ModuleType):
    def __call__(
        self,
        recording: Recording,
        *,
        checked: bool | None = None,
        shape: Shape | str | Path | Mapping[str, Any] | None = None,
        policy: Policy | str | None = None,
    ) -> Findings:
        return diagnose(recording, checked=checked, shape=shape, policy=policy)


# `import kvlab.diagnose` puts this module where the public function `kvlab.diagnose` is expected.
sys.modules[__name__].__class__ = _Asked
