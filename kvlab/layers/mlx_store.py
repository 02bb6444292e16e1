"""Builds the `mlx` stores of a model: its mlx-lm cache objects, grouped as its shape says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvlab.errors import NotAvailable
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.storage import Store
from kvlab.shape import Shape


def stores_for(caches: Sequence[Any], shape: Shape) -> list[Store]:
    """Return one store per group of `shape`, over the mlx-lm cache objects of the group's layers.

    Raises:
        NotAvailable: a group is of a kind that has no `mlx` storage.
    """
    stores: list[Store] = []
    for group in shape.groups:
        if group.kind != "kv":
            raise NotAvailable(
                what=f"layers {group.layers[0]}.. of {shape.name} are of kind {group.kind}",
                why="this version runs real models whose layers are all full attention (kv)",
                hint="open another model, for example smollm2",
            )
        stores.append(MLXKVStore(group, [caches[layer] for layer in group.layers]))
    return stores
