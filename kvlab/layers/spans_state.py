"""The `spans` storage of whole-state layers: who wrote the tokens that the state has seen, and what it costs. No array."""

from __future__ import annotations

from kvlab.layers.spans import Run, Runs, joined, slots
from kvlab.shape import LayerGroup


class SpanStateStore:
    """The live state of one group of recurrent or sliding-window layers.

    Attributes:
        group: Kind, layers and prices.
        offset: Tokens the state has seen.
        writer: The request that writes now.
    """

    __slots__ = ("_rows", "_runs", "group", "offset", "writer")

    def __init__(self, group: LayerGroup) -> None:
        self.group = group
        self.offset = 0
        self.writer = 0
        self._rows = 0
        self._runs: list[Run] = []

    @property
    def capacity(self) -> int:
        """Rows the live buffers have room for."""
        return self._rows

    def append(self, tokens: int) -> None:
        """See `tokens` more, as the running request."""
        end = self.offset + tokens
        self._runs = joined(self._runs, (Run(self.writer, self.offset, end),))
        if self.group.window:
            self._rows = self._rows_after(tokens, end)
        self.offset = end

    def wrote(self, tokens: int) -> None:
        """The model wrote through `append` already."""

    def contents(self, start: int, end: int) -> Runs:
        """Return what the state holds of positions [start, end): of a window only its own."""
        first = max(start, self.offset - self.group.window) if self.group.window else start
        return slots(self._runs, first, end)

    def copy(self) -> tuple[Runs, int]:
        """Return an own copy of the state, with the rows it takes."""
        return tuple(self._runs), min(self.offset, self.group.window)

    def hand_out(self) -> tuple[Runs, int]:
        """Return the state as the model hands it out."""
        return self.copy()

    def put(self, data: tuple[Runs, int], offset: int) -> None:
        """Make `data` the live state; it has seen `offset` tokens."""
        self._runs, self._rows = list(data[0]), data[1]
        self.offset = offset

    def can_rewind(self, target: int) -> bool:
        """Whether the live state can go back to `target`: a window that has not wrapped can."""
        return target < self.offset <= self.group.window

    def rewind(self, target: int) -> None:
        """Go back to `target`."""
        self._runs = list(slots(self._runs, 0, target))
        self.offset = target

    def counted(self, data: tuple[Runs, int]) -> int:
        """Return the bytes a copy counts for."""
        return data[1] * self.group.bytes_per_token if self.group.window else self.group.state_bytes

    def retained(self, data: tuple[Runs, int]) -> int:
        """Return the bytes a copy keeps alive."""
        return self.counted(data)

    def live_logical(self) -> int:
        """Return the bytes of the live state, without slack."""
        if self.group.window:
            return min(self.offset, self.group.window) * self.group.bytes_per_token
        return self.group.state_bytes if self.offset else 0

    def live_retained(self) -> int:
        """Return the bytes the live buffers take."""
        return self._rows * self.group.bytes_per_token if self.group.window else self.live_logical()

    def drop(self) -> None:
        """Let the live state go; the offset becomes 0."""
        self.offset = self._rows = 0
        self._runs = []

    def _rows_after(self, tokens: int, end: int) -> int:
        # As mlx-lm's RotatingKVCache: a prefill keeps what its first token may look at, a decode grows by steps and cuts back to the window.
        window = self.group.window
        if tokens > 1:
            return min(end, window - 1 + tokens)
        grown = self._rows if end <= self._rows else self._rows + min(self.group.growth_step, window - self.offset)
        return min(max(grown, 0), window) if self._rows < window or self._rows > window else window
