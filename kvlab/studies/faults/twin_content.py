"""Triggers on the twin, part B: wrong contents and lost reuse. Most are those of the public study of the upstream runner (`data/SOURCES.md`)."""

from __future__ import annotations

from kvlab.policy import Policy
from kvlab.shape import Shape
from kvlab.studies.faults import figures as read
from kvlab.studies.faults.models import draft_twin, hybrid_twin, kv_twin
from kvlab.studies.faults.trigger import Trigger, sent
from kvlab.workloads import Request
from kvlab.workloads.request import MediaItem

_ROOMY = 10**9
_FAR = 1000
"""A grid that no prompt here reaches: captures are made before the prompt's end only."""


def _roomy(before_end: int, **more: int) -> Policy:
    return Policy(budget_bytes=_ROOMY, capture_grid=_FAR, capture_before_end=before_end).replace(**more)


def _one(shape: Shape) -> Policy:
    del shape
    return _roomy(1)


def _two(shape: Shape) -> Policy:
    del shape
    return _roomy(2)


_LONG = range(1, 48)
_ITEM = MediaItem(2, 6, 2**31 + 5)


def _with_item(*tail: int) -> Request:
    return Request(tokens=(1, 2, 3, 4, 5, 6, *tail), generated=(), media=(_ITEM,), label="with an item")


def _grid_of_eight(shape: Shape) -> Policy:
    del shape
    return Policy(capture_grid=8, capture_before_end=4, prefill_chunk=9, budget_bytes=_ROOMY)


LEFT_PARTWAY = (
    sent([1, 2, 3, 4, 5], [6, 7]),
    sent([8, 9, 10, 11], [12, 13]),
    sent([1, 14, 15, 16, 17]),
    sent([30, 31, 32]),
    sent([1, 14, 15, 16, 40]),
)
"""The third request leaves the first one's edge partway; the fifth matches what the third stored."""

EVICTED_IN_USE = (
    sent([23, 2, 6]),
    sent([23, 8, 37, 28, 23, 7, 21, 17, 13, 20, 8, 4]),
    sent([9, 15, 15, 20, 30, 31], [1, 2, 4, 3, 2]),
    sent([23, 8, 1, 6]),
    sent([21]),
    sent([23, 8, 37]),
)
"""A minimal sequence on which upstream's own code at v0.33.0-rc2 restores wrong contents."""

TRIGGERS: tuple[Trigger, ...] = (
    Trigger(
        "F-12",
        kv_twin,
        LEFT_PARTWAY,
        lambda _: _roomy(1, budget_bytes=8),
        read.together(read.reuse(5), read.rules_broken),
        "the fifth request matches four tokens that the third one stored",
    ),
    Trigger(
        "F-13",
        hybrid_twin,
        (sent([1, 2, 3, 4], [5, 6, 7, 8, 9]), sent([50, 51, 52]), sent([1, 2, 3, 4], [5, 6]), sent([60, 61, 62]), sent([1, 2, 3, 4, 5, 70, 71])),
        _one,
        read.reuse(5),
        "the third request stops inside the first one's reply; the fifth goes on from there",
    ),
    Trigger(
        "F-14",
        kv_twin,
        (sent([1, 2, 3], [4]), sent([5, 6, 7], [8]), sent([1, 2, 3, 10])),
        lambda _: _roomy(1, prefill_chunk=3),
        read.together(read.reuse(3), read.wrong),
        "the third request restores the first one's prompt, whose last slot the second one wrote over while it decoded",
    ),
    Trigger(
        "F-15",
        hybrid_twin,
        (sent([1, 2, 3, 4, 5, 6]), sent([1, 2], [9, 9, 9]), sent([1, 2, 3, 7])),
        _one,
        read.together(read.reuse(3), read.off_edge),
        "the third request resumes at 1 and captures at 3; a node [1, 2) is between",
    ),
    Trigger(
        "F-16",
        hybrid_twin,
        (sent([1, 2], [4]), sent([1, 2, 3, 7]), sent([13, 14]), sent([1, 2, 3, 16])),
        _one,
        read.together(read.reuse(4), read.rules_broken),
        "the second request extends the first one's node; the fourth restores it",
    ),
    Trigger(
        "F-17",
        kv_twin,
        (sent([1, 2, 3]), sent([1, 2, 3, 4, 1]), sent([9, 9]), sent([1, 2, 3, 8])),
        _two,
        read.together(read.reuse(4), read.tail(1)),
        "the second request extends what the first one left; the fourth goes back to it",
    ),
    Trigger(
        "F-18",
        draft_twin,
        (sent(_LONG, cancel=18), sent([*_LONG[:18], *range(900, 911)]), sent(_LONG, cancel=36), sent(_LONG, [50, 51])),
        _grid_of_eight,
        read.reuse(2),
        "the first request is cut at 18 of 47 tokens; the second shares 18 with it and then diverges",
    ),
    Trigger(
        "F-20",
        draft_twin,
        (sent(_LONG, cancel=18), sent(_LONG, [50, 51])),
        _grid_of_eight,
        read.together(read.reuse(2), read.rules_broken),
        "the first request is cut at 18 of 47 tokens; the second is the same prompt again",
    ),
    Trigger(
        "F-21",
        draft_twin,
        (sent([1, 2, 3, 4], [5, 6]), sent([1, 2, 3, 4, 5, 9])),
        _one,
        read.together(read.reuse(2), read.wrong),
        "the draft layer's slot 4 was paired with token 6, which does not follow in the second prompt",
    ),
    Trigger(
        "F-22",
        hybrid_twin,
        (_with_item(7), _with_item(9)),
        lambda _: _roomy(3),
        read.together(read.reuse(2), read.capture_ends),
        "positions 2 to 5 are one media item that is evaluated whole; a capture is scheduled three tokens before the end",
    ),
    Trigger(
        "F-28",
        draft_twin,
        (sent(range(21_800)), sent([*range(21_743), 30_000, 30_001])),
        lambda _: Policy(),
        read.together(read.reuse(2), read.highest_counted),
        "a cold prompt of 21,800 tokens, then one that shares 21,743 of them",
    ),
    Trigger(
        "F-40",
        kv_twin,
        EVICTED_IN_USE,
        lambda _: Policy.ollama("0.33.0").replace(budget_bytes=20, capture_grid=_FAR, capture_before_end=1),
        read.together(read.reuse(6), read.wrong),
        "the fourth request resumes at 2, inside [1, 11), which the budget then evicts; the sixth restores what was merged across the hole",
    ),
)
"""A trigger for each entry of part B that a choice makes."""
