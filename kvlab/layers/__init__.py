"""Layer kinds: the rules of each kind once, the contents in one of two storages (`mlx`, `spans`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kvlab.layers.hidden import HiddenLayers
from kvlab.layers.kv import KVLayers
from kvlab.layers.layer import Layer
from kvlab.layers.registry import SnapshotRegistry
from kvlab.layers.snapshot import Snapshot
from kvlab.layers.spans_hidden import SpanHiddenStore
from kvlab.layers.state import StateLayers
from kvlab.layers.storage import KVStore, StateStore, Store
from kvlab.policy import Policy
from kvlab.shape import KV_KINDS

__all__ = ["KV_KINDS", "KVLayers", "Layer", "Snapshot", "SnapshotRegistry", "Store", "layers_for"]


def layers_for(stores: Sequence[Store], policy: Policy, registry: SnapshotRegistry) -> list[Layer]:
    """Return the rules over each store, in their order."""
    return [_rules(group, store, policy, registry) for group, store in enumerate(stores)]


def _rules(group: int, store: Store, policy: Policy, registry: SnapshotRegistry) -> Layer:
    if store.group.kind in KV_KINDS:
        return KVLayers(group, cast("KVStore", store), policy, registry)
    if store.group.kind == "hidden":
        return HiddenLayers(group, cast("SpanHiddenStore", store), registry)
    return StateLayers(group, cast("StateStore", store), policy, registry)
