"""Findings from a recording's tables and the shape and policy in its manifest: one file a question, the most asked first.

Nothing here runs a model or reads an array. The package can be called like its function `diagnose`, so that
`kvlab.diagnose(recording)` works whether or not the package was imported before.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

from kvlab.diagnose.budget_or_leak import budget_or_leak
from kvlab.diagnose.do_the_parts_add_up import do_the_parts_add_up
from kvlab.diagnose.finding import Evidence, Finding
from kvlab.diagnose.findings import Findings
from kvlab.diagnose.is_the_answer_right import is_the_answer_right
from kvlab.diagnose.what_survived_a_cancel import what_survived_a_cancel
from kvlab.diagnose.why_not_reused import why_not_reused
from kvlab.recording import Recording

__all__ = [
    "Evidence",
    "Finding",
    "Findings",
    "budget_or_leak",
    "diagnose",
    "do_the_parts_add_up",
    "is_the_answer_right",
    "what_survived_a_cancel",
    "why_not_reused",
]


def diagnose(recording: Recording, *, checked: bool | None = None) -> Findings:
    """Return the answers to all questions about a recording; one that cannot be answered says what to record.

    `checked` says whether every restored position was checked; by default the recording is asked.
    """
    right = is_the_answer_right(recording, checked=checked)
    found = [_growth(recording), why_not_reused(recording), right, do_the_parts_add_up(recording)]
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
    return from_outside(recording) if inside.verdict == "not_enough_data" and recording.observed.height else inside


class _Asked(ModuleType):
    def __call__(self, recording: Recording, *, checked: bool | None = None) -> Findings:
        return diagnose(recording, checked=checked)


# `import kvlab.diagnose` puts this module where the public function `kvlab.diagnose` is expected.
sys.modules[__name__].__class__ = _Asked
