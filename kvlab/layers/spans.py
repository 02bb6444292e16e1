"""Runs of positions by the request that wrote them: the contents of the `spans` storage.

A run says: these slots hold positions [start, end) of what request `writer` wrote. Slots follow from the runs' lengths.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias


class Run(NamedTuple):
    """Positions [start, end) as request `writer` wrote them."""

    writer: int
    start: int
    end: int


Runs: TypeAlias = tuple[Run, ...]


def slots(runs: Iterable[Run], start: int, end: int) -> Runs:
    """Return the part of `runs` in slots [start, end)."""
    found: list[Run] = []
    at = 0
    for run in runs:
        length = run.end - run.start
        low, high = max(start - at, 0), min(end - at, length)
        if low < high:
            found.append(Run(run.writer, run.start + low, run.start + high))
        at += length
    return tuple(found)


def joined(first: Iterable[Run], second: Iterable[Run]) -> list[Run]:
    """Return `first` followed by `second`; where one continues the other they become one run."""
    runs = list(first)
    for run in second:
        if runs and runs[-1].writer == run.writer and runs[-1].end == run.start:
            runs[-1] = Run(run.writer, runs[-1].start, run.end)
        else:
            runs.append(run)
    return runs


def length(runs: Iterable[Run]) -> int:
    """Return how many slots `runs` take."""
    return sum(run.end - run.start for run in runs)
