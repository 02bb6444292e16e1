"""Reach: how far back a window can be brought from the positions it holds."""

from __future__ import annotations

from kvlab.shape import LayerGroup


def goes_back(group: LayerGroup, start: int, end: int, target: int) -> bool:
    """Whether layers of `group` that hold positions [start, end) can be brought back to `target`, with nothing missing that a later token sees.

    A sliding window can until it has wrapped. A chunk can while it holds the beginning of the chunk that contains `target`: what comes
    next sees nothing before it. A recurrent state cannot.
    """
    if group.chunked:
        return start <= target // group.window * group.window and target < end
    return target < end <= group.window


def first_kept(group: LayerGroup, start: int, end: int) -> int:
    """Return the first position that a copy of live chunks holding [start, end) keeps: a forward left at most the last `window` rows."""
    return max(start, end - group.window)
