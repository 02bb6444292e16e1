"""The `spans` storage of chunked windows: who wrote the rows that are held, and what the buffers would cost. No array.

Invariant: rows and capacity change exactly as in mlx-lm's `ChunkedKVCache` (mlx-lm 0.32): a forward first drops all rows before the last
`window` ones, then the buffer grows by whole growth steps, as a full-attention one.
"""

from __future__ import annotations

from kvlab.layers.reach import first_kept, goes_back
from kvlab.layers.spans_state import SpanStateStore, State
from kvlab.shape import LayerGroup


class SpanChunkedStore(SpanStateStore):
    """The live chunks of one group of layers; attributes as in `SpanStateStore`."""

    __slots__ = ("_held_from",)

    def __init__(self, group: LayerGroup) -> None:
        super().__init__(group)
        self._held_from = 0

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds."""
        return first_kept(self.group, self._held_from, self.offset)

    def append(self, tokens: int, *, singly: bool = False) -> None:
        """See `tokens` more, as the running request; `singly` one by one, since each may drop rows."""
        for _ in range(tokens if singly else 1):
            super().append(1 if singly else tokens)

    def put(self, data: State, offset: int) -> None:
        """Make `data` the live state; it has seen `offset` tokens."""
        super().put(data, offset)
        self._held_from = offset - data.rows

    def can_rewind(self, target: int) -> bool:
        """Whether the live rows reach back far enough for `target`."""
        return goes_back(self.group, self._held_from, self.offset, target)

    def drop(self) -> None:
        """Let the live state go; the offset becomes 0."""
        super().drop()
        self._held_from = 0

    def _first_before(self, end: int) -> int:
        del end
        return self.first

    def _rows_after(self, tokens: int, end: int, *, singly: bool) -> int:
        del end, singly
        step, room = self.group.growth_step, self._rows
        if self.first > self._held_from:
            self._held_from = self.first
            room = self.group.window
        held = self.offset - self._held_from
        if held + tokens <= room:
            return room
        return (held if held % step else room) + -(-tokens // step) * step
