"""The `mlx` storages of whole-state layers: mlx-lm's `ArraysCache` and `RotatingKVCache` objects, unmodified.

Invariants: an owned copy shares no buffer with anything; a window is copied as its last `window` rows in time order while a prefill left
more, else as stored with its write index, which makes going on bit-equal.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
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

    __slots__ = ("caches", "group", "offset")

    def __init__(self, group: LayerGroup, caches: Sequence[Any]) -> None:
        self.group = group
        self.caches = list(caches)
        self.offset = 0

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

    def copy(self) -> list[list[mx.array | None]]:
        """Return an own copy of every array, evaluated."""
        copies = [[None if array is None else mx.array(array) for array in cache.cache] for cache in self.caches]
        mx.eval(copies)
        return copies

    def hand_out(self) -> list[list[mx.array | None]]:
        """Return the arrays as mlx-lm holds them: perhaps views that keep a bigger buffer alive."""
        return [list(cache.cache) for cache in self.caches]

    def put(self, data: list[list[mx.array | None]], offset: int) -> None:
        """Make a copy of `data` the live state: an owned snapshot shares no buffer, not even with what it restores."""
        for cache, arrays in zip(self.caches, data, strict=True):
            cache.cache = [None if array is None else mx.array(array) for array in arrays]
        mx.eval([cache.cache for cache in self.caches])
        self.offset = offset

    def can_rewind(self, target: int) -> bool:
        """A recurrent state cannot go back."""
        del target
        return False

    def rewind(self, target: int) -> None:
        """Never asked: `can_rewind` says no."""
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

    def drop(self) -> None:
        """Let the live state go; the offset becomes 0."""
        for cache in self.caches:
            cache.cache = [None] * len(cache.cache)
        self.offset = 0


@dataclass(frozen=True, slots=True)
class Window:
    """A copy of one layer's window: keys and values [1, heads, rows, dim], and the ring's write index."""

    keys: mx.array
    values: mx.array
    index: int


class MLXRotatingStore(WindowStore[Window]):
    """The live windows of `caches`; attributes as in `OffsetStore`."""

    __slots__ = ()

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds."""
        return max(0, self.offset - self.group.window)

    def copy(self) -> list[Window]:
        """Return an own copy of every window, evaluated."""
        copies = [_window(cache) for cache in self.caches]
        mx.eval([(one.keys, one.values) for one in copies])
        return copies

    def put(self, data: list[Window], offset: int) -> None:
        """Make copies of `data` the live windows; they have seen `offset` tokens."""
        for cache, one in zip(self.caches, data, strict=True):
            cache.keys, cache.values = mx.array(one.keys), mx.array(one.values)
            cache.offset, cache._idx = offset, one.index  # noqa: SLF001 - mlx-lm's own state has no public setter for it
        mx.eval([(cache.keys, cache.values) for cache in self.caches])

    def can_rewind(self, target: int) -> bool:
        """Whether the live windows can go back to `target`: they can until they have wrapped."""
        return goes_back(self.group, 0, self.offset, target) and all(cache.keys.shape[2] <= cache.max_size for cache in self.caches)

    def rewind(self, target: int) -> None:
        """Go back to `target`."""
        for cache in self.caches:
            cache.offset = cache._idx = target  # noqa: SLF001 - as above

    def live_logical(self) -> int:
        """Return the bytes of the live windows, without slack."""
        return min(self.offset, self.group.window) * self.group.bytes_per_token

    def drop(self) -> None:
        """Let the live windows go; the offset becomes 0."""
        for cache in self.caches:
            cache.keys = cache.values = None
            cache.offset = cache._idx = 0  # noqa: SLF001 - as above


def _window(cache: Any) -> Window:
    rows, window = cache.keys.shape[2], cache.max_size
    if rows > window:
        first = rows - window
        return Window(mx.array(cache.keys[..., first:, :]), mx.array(cache.values[..., first:, :]), window)
    held = min(cache.offset, rows)
    return Window(mx.array(cache.keys[..., :held, :]), mx.array(cache.values[..., :held, :]), cache._idx)  # noqa: SLF001 - as above
