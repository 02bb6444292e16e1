"""Triggers on the twin, part A: bytes that grow. Budgets are in units: 1 byte a KV token, 10 bytes a recurrent state."""

from __future__ import annotations

from collections.abc import Iterator

from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults import figures as read
from kvlab.studies.faults.models import hybrid_twin, kv_twin, speculative_twin
from kvlab.studies.faults.trigger import Figures, Trigger, sent
from kvlab.workloads import Request

_ROOMY = 10**9
CHUNK = 8
LONG = 40


def _unrelated(count: int, tokens: int, reply: int) -> Iterator[Request]:
    for place in range(1, count + 1):
        yield sent(range(1000 * place, 1000 * place + tokens), range(1000 * place + 500, 1000 * place + 500 + reply))


def turns(count: int) -> Iterator[Request]:
    """Yield a chat: each turn is the one before with its reply of four tokens and six new ones."""
    so_far: list[int] = []
    for turn in range(count):
        so_far += range(10 * turn, 10 * turn + 6)
        reply = range(10 * turn + 6, 10 * turn + 10)
        yield sent(so_far, reply)
        so_far += reply


def per_turn(fault: Recording, cured: Recording, shape: Shape) -> Figures:
    """Return the growth of the fault arm over its last turn, and what a whole state takes."""
    del cured
    values = fault.requests["counted"].to_list()
    return {"growth_of_the_last_turn_bytes": values[-1] - values[-2], "whole_state_bytes": shape.state_bytes}


TRIGGERS: tuple[Trigger, ...] = (
    Trigger(
        "F-01",
        hybrid_twin,
        (sent(range(1, 2 + 3 * CHUNK)), sent(range(101, 102 + 3 * CHUNK))),
        lambda _: Policy(budget_bytes=_ROOMY, capture_grid=CHUNK, capture_before_end=0, prefill_chunk=CHUNK),
        read.pinned,
        "two prompts of three chunks, a capture at each chunk's end",
    ),
    Trigger(
        "F-03",
        kv_twin,
        tuple(_unrelated(8, 40, 5)),
        lambda _: Policy(budget_bytes=200),
        read.together(read.counted, read.over_budget),
        "eight unrelated prompts of 40 tokens under a budget of 200",
    ),
    Trigger(
        "F-04",
        kv_twin,
        tuple(_unrelated(2, 80, 0)),
        lambda _: Policy(budget_bytes=LONG, capture_grid=CHUNK, capture_before_end=0, prefill_chunk=CHUNK),
        read.highest_counted,
        "the second prompt's prefill copies out what the first one left lazy, chunk by chunk",
    ),
    Trigger(
        "F-05",
        kv_twin,
        tuple(_unrelated(6, 20, 5)),
        lambda _: Policy(budget_bytes=_ROOMY),
        read.counted,
        "six unrelated prompts: nodes, the root included",
    ),
    Trigger(
        "F-06",
        hybrid_twin,
        tuple(turns(14)),
        lambda _: Policy(budget_bytes=60),
        read.counted,
        "14 turns of one chat under a budget of six whole states",
        together=per_turn,
    ),
    Trigger(
        "F-07",
        kv_twin,
        (sent(range(1, 66)), sent(range(101, 166))),
        lambda _: Policy(budget_bytes=0, capture_grid=CHUNK, capture_before_end=0, prefill_chunk=64),
        read.transients(2),
        "a long prompt with eight captures, then another one whose eviction merges the first one's path",
    ),
    Trigger(
        "F-09",
        hybrid_twin,
        (sent([1, 2], [4]), sent([1, 2, 3, 7]), sent(range(13, 73)), sent([1, 2, 3, 16])),
        lambda _: Policy(budget_bytes=_ROOMY, capture_grid=1000, capture_before_end=1),
        read.freed_all,
        "the fourth request's restore fails and all layers are freed",
    ),
    Trigger(
        "F-10",
        kv_twin,
        (sent(range(1, LONG + 1)), sent(range(101, 105))),
        lambda _: Policy(budget_bytes=_ROOMY),
        read.live,
        "a prompt of 40 tokens, then an unrelated one of 4",
    ),
    Trigger(
        "F-39",
        speculative_twin,
        tuple(_unrelated(3, 6, 4)),
        lambda _: Policy(budget_bytes=_ROOMY, capture_grid=1000, capture_before_end=2),
        read.pinned,
        "three unrelated prompts with replies: each leaves a capture of its prefill, and a snapshot at its close after speculative rounds",
    ),
)
"""A trigger for each entry of part A that a choice makes and spans can show."""
