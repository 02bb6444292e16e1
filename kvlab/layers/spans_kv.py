"""The `spans` storage of full-attention layers: who wrote which slots, and what the buffers would cost. No array.

Invariant: `capacity` grows exactly as mlx-lm's `KVCache` does (mlx-lm 0.32, `KVCache.update_and_fetch`): by whole growth steps
for what is appended, after cutting the buffer to the offset when that is no multiple of the step.
"""

from __future__ import annotations

from kvlab.layers.spans import Run, Runs, joined, length, slots
from kvlab.shape import LayerGroup


class SpanKVStore:
    """The live buffers of one group, as runs.

    Attributes:
        group: Kind, layers and prices.
        offset: Tokens the live buffers hold.
        capacity: Tokens the live buffers have room for.
        writer: The request that writes now.
    """

    __slots__ = ("_runs", "_written", "capacity", "group", "offset", "writer")

    def __init__(self, group: LayerGroup) -> None:
        self.group = group
        self.offset = 0
        self.capacity = 0
        self.writer = 0
        self._runs: list[Run] = []
        self._written = 0

    def append(self, tokens: int) -> None:
        """Write `tokens` slots at the offset, as the running request."""
        self._grow(tokens)
        start, end = self.offset, self.offset + tokens
        last = self._runs[-1] if self._runs else None
        if start == self._written and last is not None and last.writer == self.writer and last.end == start:
            self._runs[-1] = Run(self.writer, last.start, end)
        else:
            self._overwrite((Run(self.writer, start, end),))
        self._written = max(self._written, end)
        self.offset = end

    def append_each(self, tokens: int) -> None:
        """Write `tokens` slots one by one: what as many calls of `append(1)` leave, at once."""
        step, end = self.group.growth_step, self.offset + tokens
        room = self.capacity + max(0, -(-(end - self.capacity) // step) * step)
        self.capacity = max(self.capacity, end)
        self.append(tokens)
        self.capacity = room

    def contents(self, start: int, end: int) -> Runs:
        """Return what slots [start, end) hold."""
        return slots(self._runs, start, end)

    def copy(self, start: int, end: int) -> Runs:
        """Return an own copy of slots [start, end)."""
        return slots(self._runs, start, end)

    def put(self, data: Runs) -> None:
        """Append an owned copy's contents at the offset."""
        tokens = length(data)
        self._grow(tokens)
        self._overwrite(data)
        self.offset += tokens
        self._written = max(self._written, self.offset)

    def cut(self, data: Runs, at: int) -> tuple[Runs, Runs]:
        """Cut an owned copy after `at` tokens into two."""
        return slots(data, 0, at), slots(data, at, length(data))

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

    def shrink(self) -> None:
        """Cut the buffers to the offset, rounded up to a growth step."""
        step = self.group.growth_step
        self.capacity = min(self.capacity, -(-self.offset // step) * step)
        self._runs, self._written = list(slots(self._runs, 0, self.offset)), min(self._written, self.offset)

    def drop(self) -> None:
        """Let the live buffers go; the offset becomes 0."""
        self.offset = self.capacity = self._written = 0
        self._runs = []

    def _overwrite(self, data: Runs) -> None:
        before = slots(self._runs, 0, self.offset)
        after = slots(self._runs, self.offset + length(data), self._written)
        self._runs = joined(joined(before, data), after)

    def _grow(self, tokens: int) -> None:
        if self.offset + tokens <= self.capacity:
            return
        step = self.group.growth_step
        if self.offset % step:
            self.capacity = self.offset
        self.capacity += -(-tokens // step) * step
        if self.offset % step:
            self._runs, self._written = list(slots(self._runs, 0, self.offset)), min(self._written, self.offset)
