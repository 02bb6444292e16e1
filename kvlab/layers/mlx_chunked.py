"""The `mlx` storage of chunked windows: mlx-lm's `ChunkedKVCache` objects, unmodified.

A token sees the tokens of its own chunk only. The model drops all rows before the last `window` ones when a forward begins, and not
before; so a copy holds these at most, and going on from it is bit-equal.
"""

# pyright: standard
from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx

from kvlab.layers.mlx_offset import WindowStore
from kvlab.layers.reach import first_kept, goes_back


@dataclass(frozen=True, slots=True)
class Chunk:
    """A copy of one layer's rows: keys and values [1, heads, rows, dim], and the position of the first row."""

    keys: mx.array
    values: mx.array
    first: int


class MLXChunkedStore(WindowStore[Chunk]):
    """The live chunks of `caches`; attributes as in `OffsetStore`."""

    __slots__ = ()

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds."""
        return first_kept(self.group, self._held_from, self.offset)

    @property
    def _held_from(self) -> int:
        return max(cache.start_position for cache in self.caches)

    def copy(self) -> list[Chunk]:
        """Return an own copy of every layer's rows, evaluated."""
        first, end = self.first, self.offset
        copies: list[Chunk] = []
        for cache in self.caches:
            rows = slice(first - cache.start_position, end - cache.start_position)
            copies.append(Chunk(mx.array(cache.keys[..., rows, :]), mx.array(cache.values[..., rows, :]), first))
        mx.eval([(one.keys, one.values) for one in copies])
        return copies

    def put(self, data: list[Chunk], offset: int) -> None:
        """Make copies of `data` the live rows; they have seen `offset` tokens."""
        for cache, one in zip(self.caches, data, strict=True):
            cache.keys, cache.values = mx.array(one.keys), mx.array(one.values)
            cache.offset, cache.start_position = offset, one.first
        mx.eval([(cache.keys, cache.values) for cache in self.caches])

    def can_rewind(self, target: int) -> bool:
        """Whether the live rows reach back far enough for `target`."""
        return goes_back(self.group, self._held_from, self.offset, target)

    def rewind(self, target: int) -> None:
        """Go back to `target`; later rows stay until a write overwrites them."""
        for cache in self.caches:
            cache.offset = target

    def live_logical(self) -> int:
        """Return the bytes of the rows that later tokens may still see, without slack."""
        return (self.offset - self.first) * self.group.bytes_per_token

    def drop(self) -> None:
        """Let the live rows go; the offset becomes 0."""
        for cache in self.caches:
            cache.keys = cache.values = None
            cache.offset = cache.start_position = 0
