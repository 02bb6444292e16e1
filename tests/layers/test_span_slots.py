"""Span stores of full attention against a list with a writer a slot; after a rewind a write touches only the runs beside the offset."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from kvlab.layers.spans import Run, length
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.shape import LayerGroup


def told(store: SpanKVStore, end: int) -> list[tuple[int, int]]:
    runs = store.contents(0, end)
    assert all(one.end > one.start for one in runs)
    assert all((one.writer, one.end) != (other.writer, other.start) for one, other in pairwise(runs))
    return [(run.writer, at) for run in runs for at in range(run.start, run.end)]


@pytest.mark.parametrize("step", [1, 4, 256])
def test_slots_are_what_was_written_there_last(step: int) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        store = SpanKVStore(LayerGroup("kv", (0,), bytes_per_token=1, growth_step=step))
        slots: list[tuple[int, int]] = []
        copies: list[tuple[int, tuple[Run, ...]]] = []
        for writer in range(80):
            store.writer = writer
            at, choice = store.offset, rng.random()
            if choice < 0.5:
                count = rng.choice((1, 1, 2, 7))
                grows = at + count > store.capacity and at % step
                store.append(count)
                slots = slots[:at] + [(writer, at + place) for place in range(count)] + ([] if grows else slots[at + count :])
            elif choice < 0.7:
                store.offset = rng.randint(0, len(slots))
            elif choice < 0.85 and at:
                start = rng.randint(0, at - 1)
                copies.append((start, store.copy(start, at)))
                assert length(copies[-1][1]) == at - start
            elif copies:
                start, data = rng.choice(copies)
                if start <= at:
                    store.offset = start
                    count = length(data)
                    grows = start + count > store.capacity and start % step
                    store.put(data)
                    rows = [(run.writer, place) for run in data for place in range(run.start, run.end)]
                    slots = slots[:start] + rows + ([] if grows else slots[start + count :])
            assert told(store, len(slots)) == slots
            assert told(store, store.offset) == slots[: store.offset]


def test_single_writes_after_a_rewind_leave_the_other_runs_alone() -> None:
    store = SpanKVStore(LayerGroup("kv", (0,), bytes_per_token=1))
    for writer in range(100):
        store.writer = writer
        store.append(3)
    store.offset = 150
    before, beyond = store._held, store._beyond
    held = list(before)
    store.writer = 100
    for _ in range(60):
        store.append(1)
    assert store._held is before
    assert store._beyond is beyond
    assert before[:-1] == held
    assert before[-1] == Run(100, 150, 210)
    assert (len(beyond), store.contents(0, 300)[-1]) == (30, Run(99, 297, 300))
