"""The rules of full-attention layers on both storages (upstream scenarios 27-30 and 35-42 of cache_test, lazy_test, snapshot_capture_test)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import KVCache

from kvlab.allocator import Ledger
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import KVLayers, SnapshotRegistry
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from kvlab.trie import Node

GROUP = LayerGroup("kv", (0, 1), bytes_per_token=2 * 2 * 3 * 4)


@dataclass
class Bench:
    """One group of layers, how to write values into it, and how to read them back."""

    layers: KVLayers
    registry: SnapshotRegistry
    write: Callable[[list[int]], None]
    read: Callable[[int, int], list[int]]

    def say(self, values: list[int]) -> None:
        self.layers.will_write(len(values))
        self.write(values)

    def node(self) -> Node:
        node = Node(9, None, b"", 0)
        node.snapshots = [None]
        return node


@pytest.fixture(params=["mlx", "spans"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return make(request.param, Policy())


def make(storage: str, policy: Policy) -> Bench:
    log = Log()
    registry = SnapshotRegistry(Ledger(SpanMeter(0), log.append), log.append)
    if storage == "spans":
        spans = SpanKVStore(GROUP)
        layers = KVLayers(0, spans, policy, registry)
        return Bench(layers, registry, lambda values: write_spans(spans, values), lambda a, b: [run.writer for run in read_spans(spans, a, b)])
    caches = [KVCache(), KVCache()]
    store = MLXKVStore(GROUP, caches)
    return Bench(KVLayers(0, store, policy, registry), registry, lambda values: write_arrays(caches, values), lambda a, b: read_arrays(caches, a, b))


def write_spans(store: SpanKVStore, values: list[int]) -> None:
    # Each value is a writer of one slot, so that contents can be told apart position by position.
    for value in values:
        store.writer = value
        store.append(1)


def read_spans(store: SpanKVStore, start: int, end: int) -> list[Any]:
    runs = store.contents(start, end)
    assert all(run.end - run.start == 1 for run in runs)
    return list(runs)


def write_arrays(caches: list[KVCache], values: list[int]) -> None:
    rows = mx.broadcast_to(mx.array(values, dtype=mx.float32)[None, None, :, None], (1, 1, len(values), 3))
    for cache in caches:
        cache.update_and_fetch(rows, -rows)
    mx.eval([(cache.keys, cache.values) for cache in caches])


def read_arrays(caches: list[KVCache], start: int, end: int) -> list[int]:
    for cache in caches:
        assert np.array_equal(np.array(cache.keys)[..., start:end, :], -np.array(cache.values)[..., start:end, :])
    return np.array(caches[1].keys)[0, 0, start:end, 0].astype(int).tolist()


def test_27_a_snapshot_needs_its_base(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(5)
    bench.layers.free()
    assert not bench.layers.can_restore(snapshot, 10)
    assert not bench.layers.restore(snapshot, 10)
    assert bench.layers.offset == 0


def test_28_a_whole_snapshot_restores_into_an_empty_cache(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(0)
    bench.layers.free()
    assert bench.layers.restore(snapshot, 10)
    assert bench.layers.offset == 10
    assert bench.read(0, 10) == list(range(10))


def test_29_both_halves_of_a_split_restore_in_turn(bench: Bench) -> None:
    bench.say(list(range(10)))
    whole = bench.layers.snapshot(0)
    bench.layers.free()
    assert whole is not None
    first, second = bench.layers.split(whole, 5)
    assert bench.layers.restore(first, 5)
    assert bench.layers.offset == 5
    assert bench.layers.restore(second, 10)
    assert bench.read(0, 10) == list(range(10))


def test_30_split_and_merge_give_back_the_original(bench: Bench) -> None:
    bench.say(list(range(10)))
    whole = bench.layers.snapshot(0)
    bench.layers.free()
    assert whole is not None
    joined = bench.layers.merge(*bench.layers.split(whole, 6))
    assert bench.layers.restore(joined, 10)
    assert bench.read(0, 10) == list(range(10))
    assert bench.registry.open == 1


def test_35_a_write_over_a_lazy_snapshot_makes_it_owned_once(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(0)
    assert snapshot is not None
    node = bench.node()
    bench.registry.place(snapshot, node)
    assert (snapshot.state, bench.registry.counted) == ("lazy", 0)
    grown: list[int] = []
    bench.registry.on_growth = lambda one: grown.append(one.counted)
    assert bench.layers.restore(None, 5)
    bench.say([50, 51, 52])
    assert snapshot.state == "owned"
    assert grown == [10 * GROUP.bytes_per_token]
    assert bench.registry.counted == snapshot.counted == node.counted == grown[0]


def test_36_an_overwritten_lazy_snapshot_reads_as_it_was(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(5)
    bench.layers.restore(None, 5)
    bench.say([90, 91, 92, 93, 94])
    bench.layers.restore(None, 5)
    assert bench.layers.restore(snapshot, 10)
    assert bench.read(0, 10) == list(range(10))


def test_37_freeing_copies_lazy_snapshots_out(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(0)
    bench.layers.free()
    assert snapshot is not None
    assert (snapshot.state, snapshot.counted) == ("owned", 10 * GROUP.bytes_per_token)
    assert (bench.layers.store.capacity, bench.layers.store.live_retained()) == (0, 0)


def test_38_a_lazy_split_and_merge_stay_lazy(bench: Bench) -> None:
    bench.say(list(range(10)))
    whole = bench.layers.snapshot(2)
    assert whole is not None
    joined = bench.layers.merge(*bench.layers.split(whole, 5))
    assert joined is not None
    assert (joined.start, joined.end, joined.state, joined.counted) == (2, 10, "lazy", 0)


def test_39_a_leaf_survives_a_refill(bench: Bench) -> None:
    bench.say(list(range(10)))
    leaf = bench.layers.snapshot(4)
    bench.layers.restore(None, 4)
    bench.say([70, 71, 72, 73, 74])
    bench.layers.restore(None, 4)
    assert bench.layers.restore(leaf, 10)
    assert bench.read(0, 10) == list(range(10))


def test_40_restoring_an_own_lazy_snapshot_moves_the_offset_only(bench: Bench) -> None:
    bench.say(list(range(10)))
    snapshot = bench.layers.snapshot(0)
    bench.layers.restore(None, 0)
    retained = bench.layers.store.live_retained()
    assert bench.layers.restore(snapshot, 10)
    assert snapshot is not None
    assert (snapshot.state, bench.layers.offset, bench.layers.store.live_retained()) == ("lazy", 10, retained)


def test_41_captures_are_local_to_their_edge(bench: Bench) -> None:
    bench.say(list(range(5)))
    taken = []
    for value in range(5, 9):
        bench.say([value])
        taken.append(bench.layers.snapshot(value))
    assert bench.layers.snapshot(9) is None
    assert [(one.start, one.end) for one in taken if one is not None] == [(5, 6), (6, 7), (7, 8), (8, 9)]


def test_a_merge_with_a_missing_side_closes_the_other(bench: Bench) -> None:
    bench.say([1, 2, 3])
    assert bench.layers.merge(bench.layers.snapshot(0), None) is None
    assert bench.registry.open == 0


def test_a_snapshot_is_closed_once(bench: Bench) -> None:
    bench.say([1, 2, 3])
    snapshot = bench.layers.snapshot(0)
    assert snapshot is not None
    bench.layers.close(snapshot)
    with pytest.raises(ValueError, match="closed before"):
        bench.layers.close(snapshot)


@pytest.mark.parametrize("storage", ["mlx", "spans"])
def test_first_append_leaves_a_later_lazy_snapshot_stale(storage: str) -> None:
    bench = make(storage, Policy(copy_before_overwrite="first_append"))
    bench.say([1, 2, 3, 4])
    later = bench.layers.snapshot(2)
    bench.layers.restore(None, 0)
    bench.say([11, 12])
    bench.say([13])
    assert later is not None
    assert later.state == "lazy"
    assert bench.layers.restore(later, 4)
    assert bench.read(2, 4) == [13, 4]


def test_capacity_is_the_same_on_both_storages() -> None:
    # MLX may hand out a bigger buffer from its pool.
    mx.clear_cache()
    arrays, spans = make("mlx", Policy()), make("spans", Policy())
    counted = spans.layers.store
    assert isinstance(counted, SpanKVStore)
    for rewind, tokens in ((None, 3), (None, 300), (100, 450), (256, 1), (None, 600), (512, 1024), (256, 2000)):
        for bench in (arrays, spans):
            if rewind is not None:
                bench.layers.restore(None, rewind)
        arrays.say([7] * tokens)
        counted.append(tokens)
        mx.clear_cache()
        assert arrays.layers.store.capacity == spans.layers.store.capacity
        assert arrays.layers.store.live_retained() == spans.layers.store.live_retained()


def test_owned_copies_share_no_buffer() -> None:
    bench = make("mlx", Policy())
    bench.say(list(range(256)))
    snapshot = bench.layers.snapshot(0)
    store = bench.layers.store
    data = store.copy(0, 256)
    live = store.live_retained()
    assert isinstance(store, MLXKVStore)
    together = mx.get_array_buffer_size(data, [(cache.keys, cache.values) for cache in store.caches])
    assert together == live + store.retained(data)
    assert snapshot is not None
