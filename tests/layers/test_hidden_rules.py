"""The rules of hidden-state caches (`cache/hidden.go`, main): slices count the whole array behind them; what is shared is retained once."""

from __future__ import annotations

import pytest

from kvlab.allocator import Ledger
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import Snapshot, SnapshotRegistry
from kvlab.layers.hidden import HiddenLayers
from kvlab.layers.spans_hidden import SpanHiddenStore
from kvlab.shape import LayerGroup

PRICE = 3
"""Bytes a token."""


class Bench(HiddenLayers):
    """One hidden-state cache, and a forward into it."""

    def __init__(self) -> None:
        log = Log()
        super().__init__(0, SpanHiddenStore(LayerGroup("hidden", (0,), bytes_per_token=PRICE)), SnapshotRegistry(Ledger(SpanMeter(0), log.append), log.append))

    def forward(self, tokens: int, chunk: int | None = None) -> None:
        self.will_write(tokens, chunk)
        self.store.append(tokens)

    def taken(self, start: int, end: int) -> Snapshot:
        snapshot = self.capture(start, end)
        assert snapshot is not None
        return snapshot

    @property
    def retained(self) -> int:
        return self.store.live_retained() + sum(one.retained for one in self.views.values()) - self.shared()


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.forward(10)
    return made


def test_a_slice_counts_the_whole_array_and_is_retained_once(bench: Bench) -> None:
    taken = [bench.taken(0, 4), bench.taken(4, 10)]
    assert [(one.start, one.end, one.state, one.counted) for one in taken] == [(0, 4, "view", 10 * PRICE), (4, 10, "view", 10 * PRICE)]
    assert bench.shared() == 2 * 10 * PRICE
    assert bench.retained == 10 * PRICE


def test_an_append_makes_a_new_array_of_all_rows(bench: Bench) -> None:
    first = bench.taken(0, 10)
    bench.forward(2)
    assert (first.counted, bench.taken(10, 12).counted) == (10 * PRICE, 12 * PRICE)
    assert bench.retained == (10 + 12) * PRICE


def test_a_chunk_cut_for_another_layer_is_one_append() -> None:
    bench = Bench()
    bench.forward(6, chunk=10)
    at_cut = bench.taken(0, 6)
    bench.forward(4)
    assert (at_cut.counted, bench.taken(6, 10).counted) == (10 * PRICE, 10 * PRICE)
    assert bench.retained == 10 * PRICE


def test_going_back_keeps_the_array_and_going_back_to_0_frees_it(bench: Bench) -> None:
    assert bench.restore(None, 4)
    assert (bench.offset, bench.store.live_logical(), bench.store.live_retained()) == (4, 4 * PRICE, 10 * PRICE)
    bench.forward(1)
    assert bench.store.live_retained() == 5 * PRICE
    assert bench.restore(None, 0)
    assert (bench.offset, bench.retained) == (0, 0)


def test_rows_of_a_snapshot_are_shared_when_there_are_none_and_joined_when_there_are(bench: Bench) -> None:
    head, tail = bench.split(bench.taken(0, 10), 6)
    assert head is not None
    assert tail is not None
    bench.free()
    assert bench.restore(head, 5)
    assert bench.retained == 10 * PRICE
    assert not bench.can_restore(tail, 10)
    assert bench.restore(head, 6)
    assert bench.store.live_retained() == 6 * PRICE
    assert bench.restore(tail, 8)
    assert bench.store.live_retained() == 8 * PRICE
    assert not bench.restore(None, 9)
    assert not bench.restore(tail, 11)
    assert bench.offset == 8


def test_halves_count_the_whole_array_each_and_a_merge_counts_the_join(bench: Bench) -> None:
    bench.forward(10)
    head, tail = bench.split(bench.taken(4, 14), 6)
    assert [(one.start, one.end, one.counted) for one in (head, tail) if one] == [(4, 6, 20 * PRICE), (6, 14, 20 * PRICE)]
    joined = bench.merge(head, tail)
    assert joined is not None
    assert (joined.start, joined.end, joined.counted) == (4, 14, 10 * PRICE)
    assert bench.merge(joined, None) is None
    assert bench.views == {}


def test_a_cut_outside_a_snapshot_leaves_it_whole(bench: Bench) -> None:
    taken = bench.taken(4, 10)
    assert bench.split(taken, 4) == (None, taken)
    assert bench.split(taken, 10) == (taken, None)
    assert bench.capture(4, 4) is None


def test_an_interrupted_forward_is_taken_back(bench: Bench) -> None:
    bench.will_write(5)
    bench.take_back(10)
    assert (bench.offset, bench.store.live_retained()) == (10, 10 * PRICE)
