"""The `mlx` storage of full-attention layers: the arrays of real mlx-lm `KVCache` objects.

The model sees these objects unmodified; this store moves their offset, and copies slots out of and into their buffers.
Invariant: an owned copy shares no buffer with anything (`mx.array(slice)` copies for sure; other calls may share).
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import mlx.core as mx

from kvlab.shape import LayerGroup

Pairs: TypeAlias = list[tuple[mx.array, mx.array]]
"""Keys and values of each layer, as [1, heads, tokens, dim]."""


class MLXKVStore:
    """The live buffers of `caches`, which all rest at one offset.

    Attributes:
        group: Kind, layers and prices.
        caches: The mlx-lm `KVCache` objects, one a layer.
    """

    __slots__ = ("caches", "group")

    def __init__(self, group: LayerGroup, caches: Sequence[Any]) -> None:
        self.group = group
        self.caches = list(caches)

    @property
    def offset(self) -> int:
        """Tokens that every layer's live buffers hold."""
        return min(cache.offset for cache in self.caches)

    @offset.setter
    def offset(self, value: int) -> None:
        for cache in self.caches:
            cache.offset = value

    @property
    def capacity(self) -> int:
        """Tokens the live buffers have room for."""
        keys = self.caches[0].keys
        return 0 if keys is None else keys.shape[2]

    def copy(self, start: int, end: int) -> Pairs:
        """Return an own copy of slots [start, end), evaluated."""
        return _evaluated([(mx.array(cache.keys[..., start:end, :]), mx.array(cache.values[..., start:end, :])) for cache in self.caches])

    def put(self, data: Pairs) -> None:
        """Append an owned copy's contents at the offset, layer by layer so that at most one layer's old and new buffers coexist."""
        for cache, (keys, values) in zip(self.caches, data, strict=True):
            cache.update_and_fetch(keys, values)
            mx.eval(cache.keys, cache.values)

    def cut(self, data: Pairs, at: int) -> tuple[Pairs, Pairs]:
        """Cut an owned copy after `at` tokens into two own copies."""
        first = [(mx.array(keys[..., :at, :]), mx.array(values[..., :at, :])) for keys, values in data]
        second = [(mx.array(keys[..., at:, :]), mx.array(values[..., at:, :])) for keys, values in data]
        return _evaluated(first), _evaluated(second)

    def join(self, first: Pairs, second: Pairs) -> Pairs:
        """Return an own copy of `first` followed by `second`."""
        return _evaluated(
            [
                (mx.concatenate([keys, more_keys], axis=2), mx.concatenate([values, more_values], axis=2))
                for (keys, values), (more_keys, more_values) in zip(first, second, strict=True)
            ]
        )

    def retained(self, data: Pairs) -> int:
        """Return the bytes of the buffers that an owned copy keeps alive."""
        return mx.get_array_buffer_size(data)

    def live_logical(self) -> int:
        """Return the bytes of the live slots up to the offset."""
        return self.offset * self.group.bytes_per_token

    def wrote(self, tokens: int) -> None:
        """The buffers keep their own offset."""

    def live_retained(self) -> int:
        """Return the bytes of the buffers that the live contents keep alive."""
        return mx.get_array_buffer_size([(cache.keys, cache.values) for cache in self.caches if cache.keys is not None])

    def shrink(self) -> None:
        """Cut the buffers to the offset, rounded up to a growth step, layer by layer."""
        step = self.group.growth_step
        room = min(self.capacity, -(-self.offset // step) * step)
        if not room:
            self.drop()
        elif room < self.capacity:
            for cache in self.caches:
                cache.keys, cache.values = mx.array(cache.keys[..., :room, :]), mx.array(cache.values[..., :room, :])
                mx.eval(cache.keys, cache.values)

    def drop(self) -> None:
        """Let the live buffers go; the offset becomes 0."""
        for cache in self.caches:
            cache.keys = cache.values = None
            cache.offset = 0


def _evaluated(pairs: Pairs) -> Pairs:
    mx.eval(pairs)
    return pairs
