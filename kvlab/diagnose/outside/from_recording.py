"""The answer to `budget_or_leak` of a recording that was made from outside, by the surest figures that it has.

In this order: a heap that grows while the listed size stays; figures of the model's bytes beside the twin of the requests told; what the
trie's dumps count; figures alone, without the requests' matches. The first that can answer does.
"""

from __future__ import annotations

from kvlab.diagnose.finding import Finding, not_enough_data
from kvlab.diagnose.known import model_of, policy_of, shape_of
from kvlab.diagnose.outside.counted_told import counted_told
from kvlab.diagnose.outside.heap import heap_growth
from kvlab.diagnose.outside.judged import QUESTION, judged
from kvlab.diagnose.outside.rules_say import rules_say
from kvlab.diagnose.outside.series_seen import Seen, series_seen
from kvlab.diagnose.outside.size_alone import size_alone
from kvlab.recording import Recording

NOTHING = "not_enough_data"


def from_outside(recording: Recording) -> Finding:
    """Judge what a recording tells from outside; when nothing can be judged, say what the rules would make of it and what to record."""
    heap = heap_growth(recording)
    if heap is not None:
        return heap
    parts = series_seen(recording)
    tries = [_beside_twin(recording, parts[0])] if parts else []
    for judge in (counted_told, size_alone):
        if any(one.verdict != NOTHING for one in tries):
            break
        found = judge(recording)
        tries += [found] if found is not None else []
    decided = next((one for one in tries if one.verdict != NOTHING), None)
    return decided or rules_say(recording, tries[0] if tries else _nothing())


def _beside_twin(recording: Recording, seen: Seen) -> Finding:
    shape = shape_of(recording)
    if shape is None:
        return not_enough_data(
            QUESTION, f"The shape of the model {model_of(recording)!r} is not known.", "Give its config.json: kvlab diagnose --shape config.json."
        )
    return judged(seen, shape, policy_of(recording))


def _nothing() -> Finding:
    return not_enough_data(QUESTION, "No figures of a model's bytes stand beside its requests.", "Record /api/ps after each request: kvlab probe does.")
