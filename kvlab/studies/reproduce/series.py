"""E1 (#18099): what of a growing process is the cache: growth a request under several contexts. The process's own heap is no twin's."""

from __future__ import annotations

from kvlab.diagnose import facts
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made
from kvlab.studies.reproduce.run import made
from kvlab.workloads.series import CONTEXTS

SETTLED = 3
"""Requests of the first block after which each leaves the same: the first ones store the template."""


def make(published: Published) -> Made:
    """Compare what a request of the first and of the last block leaves, while the budget is not full."""
    del published
    recording = made("E1:context")
    full = min(facts(recording).evicted_in())
    each = recording.requests.height // len(CONTEXTS)
    grown = recording.requests["paged_out"].diff().to_list()
    first, last = grown[SETTLED:each], grown[each * (len(CONTEXTS) - 1) : full - 1]
    return Made({"context_growth": 100 * (sum(last) / len(last) / (sum(first) / len(first)) - 1)})
