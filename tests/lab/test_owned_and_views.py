"""Owned snapshots share no buffer with anything; views pin the forward's input, and the ledger says whose bytes these are."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import polars as pl
import pytest

from kvlab.events import BytesRead, Evicted
from kvlab.lab.lab import Lab
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.mlx_state import MLXRecurrentStore, MLXRotatingStore
from kvlab.models.mlx_model import MLXModel
from kvlab.policy import Policy
from kvlab.workloads import Request, Workload
from tests.lab import nets

PAGE = 16 * 1024
"""The largest page of the systems kvlab runs on, in bytes (macOS; Linux has 4 KiB)."""


def live_arrays(lab: Lab) -> list[Any]:
    found: list[Any] = []
    for layer in lab.cache.layers:
        store = layer.store
        assert isinstance(store, MLXKVStore | MLXRotatingStore | MLXRecurrentStore)
        found += [cache.state for cache in store.caches]
    return found


@pytest.mark.parametrize("net", [nets.hybrid, nets.sliding, nets.convolution])
@pytest.mark.parametrize("tokens", [1, 2, 24, 65, 300, 700, pytest.param(4096, marks=pytest.mark.full)])
def test_compact_shares_nothing(net: Any, tokens: int) -> None:
    lab = Lab(MLXModel("net", net(), nets.bytes_tokenizer(), context=8192), Policy(prefill_chunk=512, capture_grid=1024))
    prompt = tuple(index % 251 for index in range(tokens))
    list(lab.step(Request(tokens=prompt, max_new=3, ignore_stop=True)))
    list(lab.step(Request(tokens=(255, *prompt[: tokens // 2]), max_new=1, ignore_stop=True)))
    mx.clear_cache()
    snapshots = [one for node in lab.cache.trie.walk() for one in node.snapshots if one is not None and one.state == "owned"]
    assert snapshots
    assert all(layer.shared() == 0 for layer in lab.cache.layers)
    live = live_arrays(lab)
    others = mx.get_array_buffer_size(live)
    for one in snapshots:
        data = arrays(one.data)
        alone = mx.get_array_buffer_size(data)
        assert mx.get_array_buffer_size(data, live) == alone + others
        assert one.counted <= alone <= one.counted + 2 * PAGE * len(data)
    total = sum(mx.get_array_buffer_size(arrays(one.data)) for one in snapshots)
    assert mx.get_array_buffer_size([arrays(one.data) for one in snapshots], live) == total + others


def arrays(data: Any) -> list[mx.array]:
    if isinstance(data, mx.array):
        return [data]
    if isinstance(data, list | tuple):
        return [array for part in data for array in arrays(part)]
    if hasattr(data, "keys"):
        return [data.keys, data.values]
    return []


def test_a_view_pins_the_forwards_input() -> None:
    model = MLXModel("lfm2", nets.convolution(), nets.bytes_tokenizer(), context=8192)
    policy = Policy(prefill_chunk=128, capture_grid=128, budget_bytes=20_000)
    prompts = [Request(tokens=tuple((start + index) % 250 for index in range(500)), max_new=2, ignore_stop=True) for start in range(0, 250, 25)]
    lab = Lab(model, policy)
    figures = {}
    for choice in ("compact", "view"):
        recording = lab.run(Workload("ladder", tuple(prompts)), policy.replace(capture_as=choice), progress=False)
        assert (recording.requests["unattributed"].abs() <= 1024).all()
        spans = recording.spans.filter((pl.col("layer") == "recurrent") & pl.col("died").is_null())
        figures[choice] = int((spans["retained"] - spans["counted"]).sum())
        assert (recording.events.filter(pl.col("kind") == "evicted").height > 0) == (choice == "compact" or figures[choice] > 0)
    assert figures["compact"] < figures["view"] / 5


def test_eviction_lowers_what_is_counted_first() -> None:
    model = MLXModel("lfm2", nets.convolution(), nets.bytes_tokenizer(), context=8192)
    lab = Lab(model, Policy(prefill_chunk=128, capture_grid=128, capture_as="view", budget_bytes=400_000))
    reads: list[BytesRead] = []
    evictions = 0
    for start in range(0, 200, 25):
        for event in lab.step(Request(tokens=tuple((start + index) % 250 for index in range(500)), max_new=2, ignore_stop=True)):
            evictions += isinstance(event, Evicted)
            if isinstance(event, BytesRead) and event.phase == "close":
                reads.append(event)
    assert evictions
    assert all(read.snapshots > read.counted for read in reads)
