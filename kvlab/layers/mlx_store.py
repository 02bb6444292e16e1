"""Builds the `mlx` stores of a model: its mlx-lm cache objects, grouped as its shape says.

A composite layer (mlx-lm's `CacheList`) is its parts: each part belongs to the group of its own kind, and the model still sees the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kvlab.layers.mlx_chunked import MLXChunkedStore
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.mlx_state import MLXRecurrentStore, MLXRotatingStore
from kvlab.layers.storage import Store
from kvlab.shape import LayerGroup, Shape

KIND_OF: dict[str, str] = {
    "KVCache": "kv",
    "QuantizedKVCache": "kv",
    "ConcatenateKVCache": "kv",
    "RotatingKVCache": "rotating",
    "ChunkedKVCache": "rotating",
    "ArraysCache": "recurrent",
}
"""The layer kind of each mlx-lm cache class that has a store."""


def parts(caches: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield each layer's index with its cache object; of a composite layer each part by itself, of a layer without state nothing."""
    for layer, cache in enumerate(caches):
        if type(cache).__name__ == "CacheList":
            for part in cache.caches:
                yield from ((layer, one) for _, one in parts([part]))
        elif cache is not None:
            yield layer, cache


def stores_for(caches: Sequence[Any], shape: Shape) -> list[Store]:
    """Return one store per group of `shape` that keeps something, over the mlx-lm cache objects of the group's layers."""
    waiting = list(parts(caches))
    return [_store(group, _taken(group, waiting)) for group in shape.groups if group.kind != "stateless"]


def _taken(group: LayerGroup, waiting: list[tuple[int, Any]]) -> list[Any]:
    """Take the group's cache objects out of `waiting`, in layer order."""
    found: list[Any] = []
    for layer in group.layers:
        place = next(place for place, (index, cache) in enumerate(waiting) if index == layer and _fits(cache, group))
        found.append(waiting.pop(place)[1])
    return found


def _fits(cache: Any, group: LayerGroup) -> bool:
    return KIND_OF[type(cache).__name__] == group.kind and window_of(cache) == group.window


def window_of(cache: Any) -> int:
    """Return the tokens that a cache object's window or chunk takes; 0 for none."""
    return int(getattr(cache, "max_size", 0) or getattr(cache, "chunk_size", 0))


def _store(group: LayerGroup, caches: list[Any]) -> Store:
    if group.kind == "kv":
        return MLXKVStore(group, caches)
    if group.kind == "rotating":
        return (MLXChunkedStore if group.chunked else MLXRotatingStore)(group, caches)
    return MLXRecurrentStore(group, caches)
