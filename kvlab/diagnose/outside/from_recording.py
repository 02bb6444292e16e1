"""The answer to `budget_or_leak` of a recording that was made from outside, by the surest figures that it has.

In this order: a heap that grows while the listed size stays; figures of the model's bytes beside the twin of the requests told; what the
trie's dumps count; figures alone, without the requests' matches. The first that can answer does.
"""

from __future__ import annotations

from dataclasses import replace

from kvlab.diagnose.budget_or_leak import BOUNDED
from kvlab.diagnose.finding import Finding, not_enough_data
from kvlab.diagnose.known import model_of, policy_told, shape_of
from kvlab.diagnose.outside.counted_told import counted_told
from kvlab.diagnose.outside.heap import heap_growth
from kvlab.diagnose.outside.judged import QUESTION, judged
from kvlab.diagnose.outside.requests_told import how_many_run
from kvlab.diagnose.outside.rules_say import rules_say
from kvlab.diagnose.outside.rules_tried import judged_by_known_rules
from kvlab.diagnose.outside.series_seen import Seen, series_seen
from kvlab.diagnose.outside.size_alone import size_alone
from kvlab.recording import Recording

COUNTED = ("counted_bytes", "largest_counted_bytes", "over_budget_bytes")
"""Figures that the cache itself counts: where they were read, a simulation's do not stand for them."""


def from_outside(recording: Recording) -> Finding:
    """Judge what a recording tells from outside; when nothing can be judged, say what the rules would make of it and what to record."""
    heap = heap_growth(recording)
    if heap is not None:
        return heap
    beside = _beside_twin(recording)
    counted = counted_told(recording)
    if beside is not None and not beside.is_open and (counted is None or counted.verdict != "unexplained" or beside.verdict not in BOUNDED):
        return beside if counted is None else replace(beside, numbers=beside.numbers | {name: counted.numbers[name] for name in COUNTED})
    if counted is not None:
        return counted
    if beside is not None:
        # with the twin beside it growth and noise could not be told apart: figures alone cannot do better
        return beside
    alone = size_alone(recording) or _nothing()
    if not alone.is_open:
        return alone
    return _with_shape_wanted(alone, recording) if shape_of(recording) is None else rules_say(recording, alone)


def _beside_twin(recording: Recording) -> Finding | None:
    """Return the verdict on figures beside the twin of the requests told; None when there are no figures, no matches or no shape."""
    parts, shape = series_seen(recording), shape_of(recording)
    told = next((part for part in parts if part.told is not None), None)
    if told is None or shape is None:
        return None
    policy = policy_told(recording)
    return judged_by_known_rules(_latest(told), shape) if policy is None else judged(_latest(told), shape, policy)


def _latest(seen: Seen) -> Seen:
    """Return the last requests of a series, as many as a twin runs."""
    last = slice(len(seen) - how_many_run(seen.told or ()), None)
    return replace(seen, request=seen.request[last], observed=seen.observed[last], told=None if seen.told is None else seen.told[last])


def _with_shape_wanted(finding: Finding, recording: Recording) -> Finding:
    named = model_of(recording)
    wanted = f"The shape of the model {named!r} is not known: give its config.json (kvlab diagnose --shape config.json), and the rules say where it will stop."
    return replace(finding, summary=f"{finding.summary} {wanted}")


def _nothing() -> Finding:
    return not_enough_data(QUESTION, "No figures of a model's bytes stand beside its requests.", "Record /api/ps after each request: kvlab probe does.")
