"""The `spans` storage of whole-state layers: who wrote the tokens that the state has seen, and what it costs. No array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvlab.layers.reach import goes_back
from kvlab.layers.spans import Run, Runs, joined, slots
from kvlab.shape import LayerGroup


class State(NamedTuple):
    """A copy of a state: whose tokens it has seen, the rows it takes of a window, the bytes more that a view pins, and which round's buffer it shares."""

    runs: Runs
    rows: int
    pinned: int
    round: int = 0


class SpanStateStore:
    """The live state of one group of recurrent or sliding-window layers.

    Attributes:
        group: Kind, layers and prices.
        offset: Tokens the state has seen.
        writer: The request that writes now.
    """

    __slots__ = ("_ahead", "_begin", "_last", "_room", "_round", "_rounds", "_rows", "_runs", "group", "offset", "writer")

    def __init__(self, group: LayerGroup) -> None:
        self.group = group
        self.offset = 0
        self.writer = 0
        # Rows of a window's arrays, rows of the buffer they are a part of, and the position in the first row while rows are in order.
        self._rows = 0
        self._room = 0
        self._begin = 0
        # The runs go on beyond the offset: a window was rewound, and its buffer still has the later rows.
        self._ahead = False
        self._last = 0
        # The speculative round whose states the live one is a slice of; 0 for none.
        self._rounds = self._round = 0
        self._runs: list[Run] = []

    @property
    def capacity(self) -> int:
        """Rows the live buffers have room for."""
        return self._rows

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds by itself; the offset when it holds none."""
        return max(0, self.offset - self._rows) if self.group.window else self.offset

    def append(self, tokens: int, *, singly: bool = False) -> None:
        """See `tokens` more, as the running request; `singly` leaves what as many forwards of one token leave."""
        end = self.offset + tokens
        self._last, self._round = 1 if singly else tokens, 0
        if singly and self.group.round_states:
            self._rounds += 1
            self._round = self._rounds
        self._runs = joined(self._seen(), (Run(self.writer, self.offset, end),))
        self._ahead = False
        if self.group.window:
            self._rows = self._room = self._rows_after(tokens, end, singly=singly)
            self._begin = max(0, end - self._rows)
        self.offset = end

    def wrote(self, tokens: int) -> None:
        """The model wrote through `append` already."""

    def contents(self, start: int, end: int) -> Runs:
        """Return what the state holds of positions [start, end): of a window only the last ones before `end`."""
        return slots(self._runs, max(start, self._first_before(end)) if self.group.window else start, end)

    def copy(self) -> State:
        """Return an own copy of the state."""
        return State(tuple(self._seen()), self.offset - self.first, 0)

    def copy_window(self, end: int) -> State:
        """Return an own copy of the window that ends at `end`."""
        return State(slots(self._runs, 0, end), min(end, self.group.window), 0)

    def narrow(self, end: int) -> None:
        """Make the window that ends at `end` the live one; its rows are a part of the buffer."""
        self._runs, self._ahead = list(slots(self._runs, 0, end)), False
        self._rows = min(end, self.group.window)
        self._begin = end - self._rows
        self.offset = end

    def hand_out(self) -> State:
        """Return the state as the model hands it out: a view of the whole forward's input in its convolution's part, or a slice of a round's states."""
        return State(tuple(self._runs), self.offset - self.first, self.pinned, self._round)

    @property
    def pinned(self) -> int:
        """Bytes beyond its own that the state as `hand_out` returns it keeps alive."""
        return (self._last * self.group.conv_bytes_per_token if self._last > 1 else 0) + self._round_pins

    def detach(self) -> None:
        """Make the live state one of its own, no slice of a round's states."""
        self._round = 0

    def put(self, data: State, offset: int) -> None:
        """Make `data` the live state; it has seen `offset` tokens."""
        self._runs, self._rows, self._room, self._ahead = list(data.runs), data.rows, data.rows, False
        self._begin = offset - data.rows
        # a state of its own: no forward's input is behind it
        self._last = 0
        self._round = data.round
        self.offset = offset

    def shared(self, datas: Sequence[State]) -> int:
        """Return the bytes that slices of one round's states share with the live one."""
        return sum(self.retained(data) for data in datas if data.round and data.round == self._round)

    def can_rewind(self, target: int) -> bool:
        """Whether the live state can go back to `target`: a window that has not wrapped can."""
        return goes_back(self.group, 0, self.offset, target)

    def rewind(self, target: int) -> None:
        """Go back to `target`."""
        self._ahead = self._ahead or target < self.offset
        self.offset = target

    def counted(self, data: State) -> int:
        """Return the bytes a copy counts for."""
        return data.rows * self.group.bytes_per_token if self.group.window else self.group.state_bytes

    def retained(self, data: State) -> int:
        """Return the bytes a copy keeps alive."""
        return self.counted(data) + data.pinned

    def live_logical(self) -> int:
        """Return the bytes of the live state, without slack."""
        if self.group.window:
            return (self.offset - self.first) * self.group.bytes_per_token
        return self.group.state_bytes if self.offset else 0

    @property
    def is_slice(self) -> bool:
        """The live state is a slice of a speculative round's states."""
        return self._round > 0

    @property
    def _round_pins(self) -> int:
        return max(0, self.group.round_states - 1) * self.group.state_bytes if self._round else 0

    def live_retained(self) -> int:
        """Return the bytes the live buffers take."""
        return self._room * self.group.bytes_per_token if self.group.window else self.live_logical() + self._round_pins

    live_resident = live_retained

    def drop(self) -> None:
        """Let the live state go; the offset becomes 0."""
        self.offset = self._last = self._rows = self._room = self._begin = self._round = 0
        self._runs, self._ahead = [], False

    def _seen(self) -> Sequence[Run]:
        return slots(self._runs, 0, self.offset) if self._ahead else self._runs

    def _first_before(self, end: int) -> int:
        return max(self._begin, end - self.group.window)

    def _rows_after(self, tokens: int, end: int, *, singly: bool) -> int:
        # As mlx-lm's RotatingKVCache: a prefill keeps what its first token may look at, a decode grows by steps and cuts back to the window.
        window, rows, at = self.group.window, self._rows, self.offset
        if tokens > 1 and not singly:
            return min(end, window - 1 + tokens)
        while rows < window and (at := max(at, rows)) < end:
            rows = min(rows + min(self.group.growth_step, window - at), window)
            at += 1
        return min(rows, window)
