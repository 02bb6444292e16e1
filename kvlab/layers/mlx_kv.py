"""The `mlx` storage of full-attention layers: the arrays of real mlx-lm `KVCache`, `QuantizedKVCache` and `ConcatenateKVCache` objects.

The model sees these objects unmodified; this store moves their offset, and copies slots out of and into their buffers.
Invariant: an owned copy shares no buffer with anything (`mx.array(slice)` copies for sure; other calls may share).
"""

# pyright: standard
from __future__ import annotations

from typing import TypeAlias

import mlx.core as mx

from kvlab.layers.mlx_offset import OffsetStore
from kvlab.layers.mlx_rows import append, install, rows_of

Slots: TypeAlias = list[list[mx.array]]
"""The arrays of each layer (`kvlab.layers.mlx_rows`), as [1, heads, tokens, dim]."""


class MLXKVStore(OffsetStore):
    """The live buffers of `caches`; attributes as in `OffsetStore`."""

    __slots__ = ()

    @property
    def offset(self) -> int:
        """Tokens that every layer's live buffers hold."""
        return super().offset

    @offset.setter
    def offset(self, value: int) -> None:
        for cache in self.caches:
            cache.offset = value

    def copy(self, start: int, end: int) -> Slots:
        """Return an own copy of slots [start, end), evaluated."""
        return _evaluated([[mx.array(one[..., start:end, :]) for one in rows_of(cache)] for cache in self.caches])

    def tokens(self, data: Slots) -> int:
        """Return how many tokens an owned copy holds."""
        return int(data[0][0].shape[-2])

    def put(self, data: Slots) -> None:
        """Append an owned copy's contents at the offset, layer by layer so that at most one layer's old and new buffers coexist."""
        for cache, rows in zip(self.caches, data, strict=True):
            append(cache, rows)
            mx.eval(rows_of(cache))

    def cut(self, data: Slots, at: int, end: int) -> tuple[Slots, Slots]:
        """Cut an owned copy after `at` tokens into two own copies, of its first `end` tokens."""
        first = [[mx.array(one[..., :at, :]) for one in rows] for rows in data]
        second = [[mx.array(one[..., at:end, :]) for one in rows] for rows in data]
        return _evaluated(first), _evaluated(second)

    def join(self, first: Slots, second: Slots) -> Slots:
        """Return an own copy of `first` followed by `second`."""
        return _evaluated(
            [[mx.concatenate([one, more], axis=-2) for one, more in zip(rows, further, strict=True)] for rows, further in zip(first, second, strict=True)]
        )

    def retained(self, data: Slots) -> int:
        """Return the bytes of the buffers that an owned copy keeps alive."""
        return mx.get_array_buffer_size(data)

    def live_logical(self) -> int:
        """Return the bytes of the live slots up to the offset."""
        return self.offset * self.group.bytes_per_token

    def shrink(self) -> None:
        """Cut the buffers to the offset, rounded up to a growth step, layer by layer."""
        step = self.group.growth_step
        room = min(self.capacity, -(-self.offset // step) * step)
        if not room:
            self.drop()
        elif room < self.capacity:
            for cache in self.caches:
                install(cache, [mx.array(one[..., :room, :]) for one in rows_of(cache)])
                mx.eval(rows_of(cache))

    def drop(self) -> None:
        """Let the live buffers go; the offset becomes 0."""
        for cache in self.caches:
            cache.keys = cache.values = None
            cache.offset = 0


def _evaluated(slots: Slots) -> Slots:
    mx.eval(slots)
    return slots
