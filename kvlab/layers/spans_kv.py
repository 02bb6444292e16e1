"""The `spans` storage of full-attention layers: who wrote which slots, and what the buffers would cost. No array.

Invariant: `capacity` grows exactly as mlx-lm's `KVCache` does (mlx-lm 0.32, `KVCache.update_and_fetch`): by whole growth steps
for what is appended, after cutting the buffer to the offset when that is no multiple of the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from kvlab.layers.spans import Run, Runs, joined, length, slots
from kvlab.shape import LayerGroup


class SpanKVStore:
    """The live buffers of one group, as runs.

    Attributes:
        group: Kind, layers and prices.
        capacity: Tokens the live buffers have room for.
        writer: The request that writes now.
    """

    __slots__ = ("_beyond", "_held", "_offset", "capacity", "group", "writer")

    def __init__(self, group: LayerGroup) -> None:
        self.group = group
        self.capacity = 0
        self.writer = 0
        self._offset = 0
        # Slots up to the offset, and those beyond it, nearest last: a write touches only the runs on both sides of the offset.
        self._held: list[Run] = []
        self._beyond: list[Run] = []

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold; setting it moves it over slots that were written."""
        return self._offset

    @offset.setter
    def offset(self, value: int) -> None:
        while self._offset > value:
            run = self._held.pop()
            kept = max(0, run.end - run.start - (self._offset - value))
            if kept:
                self._held.append(Run(run.writer, run.start, run.start + kept))
            self._beyond.append(Run(run.writer, run.start + kept, run.end))
            self._offset -= run.end - run.start - kept
        if value > self._offset:
            self._hold(reversed(self._taken(value - self._offset)))
            self._offset = value

    @property
    def first(self) -> int:
        """The first position held: rows are dropped nowhere but at the end."""
        return 0

    def append(self, tokens: int, *, singly: bool = False) -> None:
        """Write `tokens` slots at the offset, as the running request; `singly` leaves what as many forwards of one token leave."""
        self._write(tokens, (Run(self.writer, self._offset, self._offset + tokens),), singly=singly)

    def contents(self, start: int, end: int) -> Runs:
        """Return what slots [start, end) hold."""
        if end <= self._offset:
            return slots(self._held, start, end)
        return tuple(joined((), slots(chain(self._held, reversed(self._beyond)), start, end)))

    def copy(self, start: int, end: int) -> Runs:
        """Return an own copy of slots [start, end)."""
        return self.contents(start, end)

    def tokens(self, data: Runs) -> int:
        """Return how many tokens an owned copy holds."""
        return length(data)

    def put(self, data: Runs) -> None:
        """Append an owned copy's contents at the offset."""
        self._write(length(data), data)

    def cut(self, data: Runs, at: int, end: int) -> tuple[Runs, Runs]:
        """Cut an owned copy after `at` tokens into two, of its first `end` tokens."""
        return slots(data, 0, at), slots(data, at, end)

    def join(self, first: Runs, second: Runs) -> Runs:
        """Return `first` followed by `second`."""
        return tuple(joined(first, second))

    def retained(self, data: Runs) -> int:
        """Return the bytes an owned copy takes."""
        return length(data) * self.group.bytes_per_token

    def live_logical(self) -> int:
        """Return the bytes of the live slots up to the offset."""
        return self.offset * self.group.bytes_per_token

    def wrote(self, tokens: int) -> None:
        """The buffers keep their own offset."""

    def live_retained(self) -> int:
        """Return the bytes the live buffers take: their capacity."""
        return self.capacity * self.group.bytes_per_token

    live_resident = live_retained

    def shrink(self) -> None:
        """Cut the buffers to the offset, rounded up to a growth step."""
        step = self.group.growth_step
        self.capacity = min(self.capacity, -(-self.offset // step) * step)
        self._beyond = []

    def drop(self) -> None:
        """Let the live buffers go; the offset becomes 0."""
        self._offset = self.capacity = 0
        self._held, self._beyond = [], []

    def _write(self, tokens: int, data: Iterable[Run], *, singly: bool = False) -> None:
        self._grow(tokens, singly=singly)
        if self._beyond:
            self._taken(tokens)
        self._hold(data)
        self._offset += tokens

    def _hold(self, data: Iterable[Run]) -> None:
        held = self._held
        for run in data:
            if held and held[-1].writer == run.writer and held[-1].end == run.start:
                held[-1] = Run(run.writer, held[-1].start, run.end)
            else:
                held.append(run)

    def _taken(self, tokens: int) -> list[Run]:
        """Take the nearest `tokens` slots beyond the offset, or as many as there are; the last of them comes first."""
        found: list[Run] = []
        while tokens and self._beyond:
            run = self._beyond.pop()
            cut = min(run.end, run.start + tokens)
            if cut < run.end:
                self._beyond.append(Run(run.writer, cut, run.end))
            found.append(Run(run.writer, run.start, cut))
            tokens -= cut - run.start
        return found[::-1]

    def _grow(self, tokens: int, *, singly: bool) -> None:
        missing = self._offset + tokens - self.capacity
        if missing <= 0:
            return
        step = self.group.growth_step
        if singly:
            # the buffer is full when it grows, so nothing of it is cut off
            tokens = missing
        elif self._offset % step:
            self.capacity = self._offset
            self._beyond = []
        self.capacity += -(-tokens // step) * step
