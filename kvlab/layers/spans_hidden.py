"""The `spans` storage of hidden-state caches: who wrote which rows, and how large the array behind them is. No array.

Invariant: an array never changes. An append makes a new one of all rows, a slice keeps the whole array it was cut from, and slices share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvlab.layers.spans import Run, Runs, joined, length, slots
from kvlab.shape import LayerGroup


class Backing:
    """An array of `rows` rows, known by its identity."""

    __slots__ = ("rows",)

    def __init__(self, rows: int) -> None:
        self.rows = rows


class Rows(NamedTuple):
    """A slice: what its rows hold, and the array that it keeps alive."""

    runs: Runs
    backing: Backing


_NOTHING = Rows((), Backing(0))


class SpanHiddenStore:
    """The live rows of one group: a row a token.

    Attributes:
        group: Kind, layers and prices.
        writer: The request that writes now.
        offset: Tokens the live rows hold.
    """

    __slots__ = ("_end", "_live", "_next_end", "group", "offset", "writer")

    def __init__(self, group: LayerGroup) -> None:
        self.group = group
        self.writer = 0
        self.offset = 0
        self._live = _NOTHING
        # Where the array that writes now fill ends, and where the next one will; 0 for none: the live array gets no more rows.
        self._end = self._next_end = 0

    @property
    def capacity(self) -> int:
        """Rows of the array that the live rows keep alive."""
        return self._live.backing.rows

    @property
    def first(self) -> int:
        """The first position held: rows are dropped nowhere but at the end."""
        return 0

    def expect(self, end: int) -> None:
        """Record that the next writes up to `end` are one append: they make one array."""
        self._next_end = max(self._next_end, end)

    def append(self, tokens: int, *, singly: bool = False) -> None:
        """Write `tokens` rows at the offset, as the running request; of arrays that are made `singly` the last one is left, as of one made at once."""
        del singly
        end, backing = self.offset + tokens, self._live.backing
        if end > self._end:
            self._end = max(end, self._next_end)
            backing = Backing(self._end)
        self._live = Rows(tuple(joined(self._live.runs, (Run(self.writer, self.offset, end),))), backing)
        self.offset = end

    def wrote(self, tokens: int) -> None:
        """The rows know their own offset."""

    def contents(self, start: int, end: int) -> Runs:
        """Return what rows [start, end) hold."""
        return slots(self._live.runs, start, end)

    def cut(self, start: int, end: int, data: Rows | None = None) -> Rows:
        """Return rows [start, end) of `data`, by default of the live rows: a slice of the same array."""
        rows = data or self._live
        return Rows(slots(rows.runs, start, end), rows.backing)

    def join(self, first: Rows, second: Rows) -> Rows:
        """Return `first` followed by `second`, in a new array."""
        runs = tuple(joined(first.runs, second.runs))
        return Rows(runs, Backing(length(runs)))

    def put(self, data: Rows) -> None:
        """Append a slice's rows: as they are where there are none, else in a new array."""
        self._rest(self.join(self._live, data) if self.offset else data)

    def rewind(self, target: int) -> None:
        """Go back to `target`: a slice of the live array."""
        self._rest(self.cut(0, target))

    def drop(self) -> None:
        """Let the live rows go; the offset becomes 0."""
        self._rest(_NOTHING)

    def tokens(self, data: Rows) -> int:
        """Return how many rows a slice has."""
        return length(data.runs)

    def retained(self, data: Rows) -> int:
        """Return the bytes of the array that a slice keeps alive."""
        return data.backing.rows * self.group.bytes_per_token

    def shared(self, datas: Sequence[Rows]) -> int:
        """Return the bytes that `datas` share with the live rows or with each other."""
        held = [self._live.backing, *(data.backing for data in datas)]
        return (sum(one.rows for one in held) - sum(one.rows for one in set(held))) * self.group.bytes_per_token

    def live_logical(self) -> int:
        """Return the bytes of the live rows."""
        return self.offset * self.group.bytes_per_token

    def live_retained(self) -> int:
        """Return the bytes of the array that the live rows keep alive."""
        return self.retained(self._live)

    live_resident = live_retained

    def _rest(self, rows: Rows) -> None:
        self._live = rows
        self.offset = length(rows.runs)
        self._end = self._next_end = 0
