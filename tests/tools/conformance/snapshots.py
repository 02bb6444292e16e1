"""Snapshot and restore of a net's caches through kvlab's own layer stores, and further checks of mlx-lm's cache objects."""

# pyright: standard
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import mlx.core as mx

from kvlab.layers import mlx_store
from kvlab.layers.storage import KVStore, StateStore
from kvlab.shape import KV_KINDS, Shape


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the stores copied of caches that have seen `offset` tokens: a list of copies a group, in order of their tokens."""

    offset: int
    copies: tuple[tuple[Any, ...], ...]


def snapshot(caches: Sequence[Any], shape: Shape, offset: int, cut: int) -> Snapshot:
    """Return owned copies of what every group holds at `offset`; of layers with a slot a token two spans, as nodes of a trie keep them: up to `cut`, and on."""
    copies: list[tuple[Any, ...]] = []
    for store in mlx_store.stores_for(caches, shape):
        store.wrote(offset)
        if store.group.kind in KV_KINDS:
            kv = cast("KVStore", store)
            copies.append((kv.copy(0, cut), kv.copy(cut, offset)))
        else:
            copies.append((cast("StateStore", store).copy(),))
    return Snapshot(offset, tuple(copies))


def restore(fresh: Sequence[Any], shape: Shape, kept: Snapshot) -> None:
    """Fill fresh caches of the same net with a snapshot, which stays as it is."""
    for store, copies in zip(mlx_store.stores_for(fresh, shape), kept.copies, strict=True):
        for copy in copies:
            if store.group.kind in KV_KINDS:
                cast("KVStore", store).put(copy)
            else:
                cast("StateStore", store).put(copy, kept.offset)


def shared_bytes(caches: Sequence[Any], shape: Shape, kept: Snapshot) -> int:
    """Return the bytes of the buffers that a snapshot shares with the caches it was taken of, or its copies with each other."""
    stores = mlx_store.stores_for(caches, shape)
    alone = sum(store.retained(copy) for store, copies in zip(stores, kept.copies, strict=True) for copy in copies)
    live = live_arrays(caches)
    return mx.get_array_buffer_size(live) + alone - mx.get_array_buffer_size([*live, *_arrays(kept)])


def live_arrays(caches: Sequence[Any]) -> list[mx.array]:
    """Return the arrays that live caches hold."""
    return list(_arrays([list(vars(cache).values()) for cache in parts(caches)]))


def parts(caches: Sequence[Any]) -> list[Any]:
    """Return the cache objects, of a composite layer its parts."""
    return [cache for _, cache in mlx_store.parts(caches)]


def described(cache: Any) -> str:
    """Return the class of a cache and what sizes it, such as `RotatingKVCache[8]` or `CacheList(ArraysCache[2]+KVCache)`."""
    name = type(cache).__name__
    if name == "CacheList":
        return f"{name}({'+'.join(described(part) for part in cache.caches)})"
    sizes = {"ArraysCache": "cache", "RotatingKVCache": "max_size", "ChunkedKVCache": "chunk_size"}
    if name not in sizes:
        return name
    size = getattr(cache, sizes[name])
    return f"{name}[{len(size) if isinstance(size, list) else size}]"


def _arrays(held: Any) -> Iterator[mx.array]:
    """Yield the arrays in lists, tuples and frozen records, however deep."""
    if isinstance(held, mx.array):
        yield held
    elif isinstance(held, list | tuple):
        for one in held:
            yield from _arrays(one)
    elif is_dataclass(held):
        for field in fields(held):
            yield from _arrays(getattr(held, field.name))
