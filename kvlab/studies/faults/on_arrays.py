"""Triggers on real arrays: the same two arms, on models small enough for a CPU. Budgets and figures are in the model's own bytes."""

from __future__ import annotations

from kvlab.events import NodeMerged
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults import figures as read
from kvlab.studies.faults.models import CONV_TAIL, attention_lab, convolution_lab, hybrid_lab
from kvlab.studies.faults.trigger import Figures, Trigger, sent
from kvlab.studies.faults.twin_content import LEFT_PARTWAY
from kvlab.studies.faults.twin_growth import per_turn, turns

CHUNK = 128
_LONG = tuple(range(250)) * 8
_OTHER = tuple(reversed(range(250))) * 8


def _roomy(shape: Shape) -> Policy:
    del shape
    return Policy(capture_grid=4096, capture_before_end=1, prefill_chunk=CHUNK)


def _conv_ratio(fault: Recording, cured: Recording, shape: Shape) -> Figures:
    del fault, cured, shape
    return {"chunk_and_tail_over_tail": (CHUNK + CONV_TAIL) / CONV_TAIL}


def _consumed(fault: Recording, cured: Recording, shape: Shape) -> Figures:
    """Return how far the peaks of the last request are apart, and the bytes of the merge inputs consumed before its last merge.

    Both arms peak while the last merge joins its two inputs: these are held in both.
    """
    last = fault.requests.height
    events = fault.rows(NodeMerged).filter(request=last)
    merged = int((events["end"] - events["start"])[:-1].sum())
    peaks = [recording.requests.item(last - 1, "peak") for recording in (fault, cured)]
    return {
        "peaks_apart_bytes": peaks[0] - peaks[1],
        "consumed_before_the_last_merge_bytes": merged * shape.bytes_per_token,
        "one_growth_step_bytes": sum(group.growth_step * group.bytes_per_token for group in shape.groups),
    }


TRIGGERS: tuple[Trigger, ...] = (
    Trigger(
        "F-01",
        convolution_lab,
        (sent(_LONG[: 3 * CHUNK + 1]), sent(_OTHER[: 3 * CHUNK + 1])),
        lambda _: Policy(capture_grid=CHUNK, capture_before_end=0, prefill_chunk=CHUNK),
        read.pinned,
        "two prompts of three chunks; the conv state as a view, as in mlx-lm, and compacted",
        together=_conv_ratio,
    ),
    Trigger(
        "F-03",
        attention_lab,
        tuple(sent((place, *_LONG[:99]), (1, 2, 3)) for place in range(8)),
        lambda shape: Policy(budget_bytes=600 * shape.bytes_per_token, prefill_chunk=CHUNK),
        read.over_budget,
        "eight unrelated prompts under a budget of 600 tokens",
    ),
    Trigger(
        "F-06",
        hybrid_lab,
        tuple(turns(14)),
        lambda shape: Policy(budget_bytes=6 * shape.state_bytes, prefill_chunk=CHUNK),
        read.counted,
        "14 turns of one chat under a budget of six whole states",
        together=per_turn,
    ),
    Trigger(
        "F-07",
        attention_lab,
        (sent(_LONG), sent(_OTHER)),
        lambda _: Policy(prefill_chunk=32, capture_grid=256, budget_bytes=0),
        read.transients(2),
        "a prompt of 2,000 tokens with a capture every 256, then another one whose eviction merges the first one's path",
        together=_consumed,
    ),
    Trigger(
        "F-09",
        hybrid_lab,
        (sent([1, 2], [4]), sent([1, 2, 3, 7]), sent(_OTHER[:400]), sent([1, 2, 3, 16])),
        _roomy,
        read.freed_all,
        "the fourth request's restore fails and all layers are freed",
    ),
    Trigger(
        "F-10",
        attention_lab,
        (sent(_LONG), sent(_OTHER[:20])),
        _roomy,
        read.live,
        "a prompt of 2,000 tokens, then an unrelated one of 20",
    ),
    Trigger(
        "F-12",
        attention_lab,
        LEFT_PARTWAY,
        lambda shape: _roomy(shape).replace(budget_bytes=8 * shape.bytes_per_token),
        read.reuse(5),
        "the fifth request matches four tokens that the third one stored",
    ),
    Trigger(
        "F-13",
        hybrid_lab,
        (sent([1, 2, 3, 4], [5, 6, 7, 8, 9]), sent([50, 51, 52]), sent([1, 2, 3, 4], [5, 6]), sent([60, 61, 62]), sent([1, 2, 3, 4, 5, 70, 71])),
        _roomy,
        read.reuse(5),
        "the third request stops inside the first one's reply; the fifth goes on from there",
    ),
    Trigger(
        "F-16",
        hybrid_lab,
        (sent([1, 2], [4]), sent([1, 2, 3, 7]), sent([13, 14]), sent([1, 2, 3, 16])),
        _roomy,
        read.reuse(4),
        "the second request extends the first one's node; the fourth restores it",
    ),
    Trigger(
        "F-18",
        hybrid_lab,
        (sent(_LONG[:470], cancel=180), sent([*_LONG[:175], 255, 255]), sent(_LONG[:470])),
        lambda _: Policy(capture_grid=80, capture_before_end=4, prefill_chunk=90),
        read.reuse(2),
        "the first request is cut at 180 of 470 tokens; the second shares 175 with it and then diverges",
    ),
    Trigger(
        "F-28",
        hybrid_lab,
        (sent(_LONG[:1800]), sent([*_LONG[:1700], 255, 255])),
        lambda _: Policy(prefill_chunk=CHUNK),
        read.together(read.reuse(2), read.highest_counted),
        "a cold prompt of 1,800 tokens, then one that shares 1,700 of them; a small model's grid of 1,024 takes the place of 8,192",
        values=(1024, 128),
    ),
)
"""The triggers that run on arrays too."""
