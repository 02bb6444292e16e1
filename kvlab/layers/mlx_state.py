"""The `mlx` storages of whole-state layers: mlx-lm's `ArraysCache` and `RotatingKVCache` objects, unmodified.

Invariants: an owned copy shares no buffer with anything; a live window is copied with all rows that its buffer holds, as stored, and its write
index, which makes going on bit-equal.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from kvlab.layers.mlx_offset import WindowStore
from kvlab.layers.reach import goes_back
from kvlab.shape import LayerGroup


class MLXRecurrentStore:
    """The live state of `caches`, mlx-lm `ArraysCache` objects; they do not know their offset, so it is kept here.

    Attributes:
        group: Kind, layers and prices.
        caches: The mlx-lm objects.
        offset: Tokens the state has seen.
    """

    __slots__ = ("_last", "caches", "group", "offset")

    is_slice = False
    """mlx-lm decodes without a draft head: no state is a slice of others."""

    def __init__(self, group: LayerGroup, caches: Sequence[Any]) -> None:
        self.group = group
        self.caches = list(caches)
        self.offset = self._last = 0

    @property
    def pinned(self) -> int:
        """Bytes of the last forward's input that mlx-lm's convolution state may be a view of."""
        return self._last * self.group.conv_bytes_per_token if self._last > 1 else 0

    @property
    def capacity(self) -> int:
        """A recurrent state has no rows."""
        return 0

    @property
    def first(self) -> int:
        """The offset: a recurrent state holds no position by itself."""
        return self.offset

    def wrote(self, tokens: int) -> None:
        """A forward went over `tokens`."""
        self.offset += tokens
        self._last = tokens

    def copy(self) -> list[list[mx.array | None]]:
        """Return an own copy of every array, evaluated."""
        copies = [[None if array is None else mx.array(array) for array in cache.cache] for cache in self.caches]
        mx.eval(copies)
        return copies

    def copy_window(self, end: int) -> Any:
        """Never called: a recurrent state has no rows."""
        raise NotImplementedError

    def narrow(self, end: int) -> None:
        """Never called: a recurrent state has no rows."""
        raise NotImplementedError

    def detach(self) -> None:
        """The live state is always one of its own."""

    def hand_out(self) -> list[list[mx.array | None]]:
        """Return the arrays as mlx-lm holds them: perhaps views that keep a bigger buffer alive."""
        return [list(cache.cache) for cache in self.caches]

    def put(self, data: list[list[mx.array | None]], offset: int) -> None:
        """Make a copy of `data` the live state: an owned snapshot shares no buffer, not even with what it restores."""
        for cache, arrays in zip(self.caches, data, strict=True):
            cache.cache = [None if array is None else mx.array(array) for array in arrays]
        mx.eval([cache.cache for cache in self.caches])
        self.offset, self._last = offset, 0

    def can_rewind(self, target: int) -> bool:
        """A recurrent state cannot go back."""
        del target
        return False

    def rewind(self, target: int) -> None:
        """Never called: `can_rewind` returns False."""
        raise NotImplementedError

    def counted(self, data: list[list[mx.array | None]]) -> int:
        """Return the logical bytes of a copy."""
        return sum(array.nbytes for arrays in data for array in arrays if array is not None)

    def retained(self, data: list[list[mx.array | None]]) -> int:
        """Return the bytes of the buffers a copy keeps alive."""
        return int(mx.get_array_buffer_size(data))

    def shared(self, datas: Sequence[list[list[mx.array | None]]]) -> int:
        """Return the bytes that `datas` share with the live state or with each other."""
        apart = sum(map(self.retained, datas)) + self.live_retained()
        return apart - int(mx.get_array_buffer_size(list(datas), self.hand_out()))

    def live_logical(self) -> int:
        """Return the bytes of the live state."""
        return self.counted(self.hand_out())

    def live_retained(self) -> int:
        """Return the bytes of the buffers the live state keeps alive."""
        return int(mx.get_array_buffer_size(self.hand_out()))

    def live_resident(self) -> int:
        """Return the bytes of one whole state."""
        return self.group.state_bytes if self.offset else 0

    def drop(self) -> None:
        """Let the live state go; the offset becomes 0."""
        for cache in self.caches:
            cache.cache = [None] * len(cache.cache)
        self.offset = self._last = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A copy of one layer's window: keys and values [1, heads, rows, dim], and the ring's write index."""

    keys: mx.array
    values: mx.array
    index: int


class MLXRotatingStore(WindowStore[Window]):
    """The live windows of `caches`; attributes as in `OffsetStore`."""

    __slots__ = ("_begin", "_room")

    def __init__(self, group: LayerGroup, caches: Sequence[Any]) -> None:
        super().__init__(group, caches)
        # the position in the first row, while rows are in order
        self._begin = 0
        # the rows of the buffer that the live rows are a part of; 0 while they are all of it
        self._room = 0

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds."""
        return max(0, self.offset - self.capacity)

    def wrote(self, tokens: int) -> None:
        """Record that a forward wrote `tokens`: several leave the rows in order."""
        self._room = 0
        if tokens > 1:
            self._begin = self.offset - self.capacity

    def copy(self) -> list[Window]:
        """Return an own copy of every window, evaluated."""
        held = min(self.offset, self.capacity)
        return _copied((cache.keys[..., :held, :], cache.values[..., :held, :], cache._idx) for cache in self.caches)  # noqa: SLF001 - as below

    def copy_window(self, end: int) -> list[Window]:
        """Return an own copy of the window that ends at `end`, evaluated."""
        held = self._rows_before(end)
        return _copied((cache.keys[..., held, :], cache.values[..., held, :], held.stop - held.start) for cache in self.caches)

    def narrow(self, end: int) -> None:
        """Make the window that ends at `end` the live one: a view of the buffer's rows."""
        held, self._room = self._rows_before(end), max(self._room, self.capacity)
        for cache in self.caches:
            cache.keys, cache.values = cache.keys[..., held, :], cache.values[..., held, :]
            cache.offset, cache._idx = end, held.stop - held.start  # noqa: SLF001 - as below
        mx.eval([(cache.keys, cache.values) for cache in self.caches])
        self._begin = end - (held.stop - held.start)

    def put(self, data: list[Window], offset: int) -> None:
        """Make copies of `data` the live windows; they have seen `offset` tokens."""
        for cache, one in zip(self.caches, data, strict=True):
            cache.keys, cache.values = mx.array(one.keys), mx.array(one.values)
            cache.offset, cache._idx = offset, one.index  # noqa: SLF001 - mlx-lm's own state has no public setter for it
        mx.eval([(cache.keys, cache.values) for cache in self.caches])
        self._room = 0

    def can_rewind(self, target: int) -> bool:
        """Whether the live windows can go back to `target`: they can until they have wrapped."""
        return goes_back(self.group, 0, self.offset, target) and all(cache.keys.shape[2] <= cache.max_size for cache in self.caches)

    def rewind(self, target: int) -> None:
        """Go back to `target`."""
        for cache in self.caches:
            cache.offset = cache._idx = target  # noqa: SLF001 - as above

    def _rows_before(self, end: int) -> slice:
        return slice(max(end - self.group.window, self._begin) - self._begin, end - self._begin)

    def live_logical(self) -> int:
        """Return the bytes of the live windows, without slack."""
        return min(self.offset, self.capacity) * self.group.bytes_per_token

    def live_resident(self) -> int:
        """Return the bytes of the rows of the buffers behind the live windows."""
        return max(self._room, self.capacity) * self.group.bytes_per_token

    def drop(self) -> None:
        """Let the live windows go; the offset becomes 0."""
        for cache in self.caches:
            cache.keys = cache.values = None
            cache.offset = cache._idx = 0  # noqa: SLF001 - as above
        self._room = 0


def _copied(windows: Iterable[tuple[mx.array, mx.array, int]]) -> list[Window]:
    copies = [Window(mx.array(keys), mx.array(values), index) for keys, values, index in windows]
    mx.eval([(one.keys, one.values) for one in copies])
    return copies
