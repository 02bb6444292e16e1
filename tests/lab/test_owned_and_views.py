"""Owned snapshots share no buffer with anything; views pin the forward's input, and the ledger says whose bytes these are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import polars as pl
import pytest

from kvlab.events import ChunkRan, Event, Evicted
from kvlab.lab.lab import Lab
from kvlab.layers.mlx_chunked import MLXChunkedStore
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
        assert isinstance(store, MLXKVStore | MLXRotatingStore | MLXChunkedStore | MLXRecurrentStore)
        found += [cache.state for cache in store.caches]
    return found


@pytest.mark.parametrize("net", [nets.hybrid, nets.sliding, nets.chunked, nets.convolution])
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


ROW = 64 * 4
"""Bytes of one row of a convolution's input: 64 numbers."""

KEPT, CONVOLUTIONS = 2, 2
"""Rows that a convolution's state keeps, one less than its kernel takes; layers that have one."""

STATE = CONVOLUTIONS * KEPT * ROW


def pinned(tokens: int) -> int:
    """Return the bytes of the inputs that the states after a forward of `tokens` are views of: the rows kept before, and a row a token."""
    return CONVOLUTIONS * (KEPT + tokens) * ROW


@pytest.fixture
def no_pool() -> Iterator[None]:
    """Without a pool, from which a bigger buffer may come, a buffer is as big as was asked for."""
    before = mx.set_cache_limit(0)
    mx.clear_cache()
    yield
    mx.set_cache_limit(before)


def after_two_requests(budget: int) -> tuple[Lab, list[Any]]:
    model = MLXModel("lfm2", nets.convolution(), nets.bytes_tokenizer(), context=8192)
    lab = Lab(model, Policy(prefill_chunk=128, capture_grid=128, capture_before_end=0, capture_as="view", budget_bytes=budget))
    events: list[Any] = []
    for first in (0, 125):
        tokens = tuple((first + index) % 250 for index in range(641))
        events += list(lab.step(Request(tokens=tokens, max_new=1, ignore_stop=True)))
    return lab, events


@pytest.mark.usefixtures("no_pool")
def test_eviction_lowers_what_is_counted_by_what_a_state_is_and_what_is_retained_by_what_it_pins() -> None:
    roomy, events = after_two_requests(2**40)
    token = roomy.shape.bytes_per_token
    # of each request the states at 128, 256, .. 640 and at its end; keys and values of the first were copied out as the second overwrote them
    assert roomy.cache.counted == 641 * token + 12 * STATE
    states = [one for node in roomy.cache.trie.walk() for one in node.snapshots if one is not None and roomy.cache.layers[one.group].kind == "recurrent"]
    assert sorted(one.end for one in states) == sorted([128, 256, 384, 512, 640, 641] * 2)
    for one in states:
        # a prompt's last token is held back: a forward of one token
        assert (one.state, one.counted, one.retained) == ("view", STATE, pinned(128 if one.end % 128 == 0 else 1))
    assert not any(isinstance(event, Evicted) for event in events)

    tight, events = after_two_requests(roomy.cache.counted - 3 * STATE)
    evicted = [event for event in events if isinstance(event, Evicted)]
    assert [(event.state, event.end, event.freed) for event in evicted] == [("interior", end, STATE) for end in (128, 256, 384)]
    closing = [lab.closing for lab in (roomy, tight)]
    assert closing[0].counted - closing[1].counted == 3 * STATE
    assert closing[0].snapshots - closing[1].snapshots == 3 * pinned(128)
    # within the budget all the same, and what is kept alive beyond it is what the views pin
    assert tight.cache.counted == tight.policy.budget_bytes
    # (the second request's last state is the live one's too, and charged to that)
    assert tight.closing.snapshots - tight.closing.counted == 7 * pinned(128) + pinned(1) - 9 * STATE


@pytest.mark.parametrize("net", [nets.hybrid, nets.sliding, nets.chunked, nets.convolution])
@pytest.mark.parametrize("choices", [{}, {"capture_as": "view"}, {"lifetimes": "sweep"}, {"snapshots": "eager"}], ids=str)
def test_every_byte_in_use_has_an_owner_at_every_step(net: Any, choices: dict[str, str]) -> None:
    model = MLXModel("net", net(), nets.bytes_tokenizer(), context=8192)
    prompts = [Request(tokens=tuple((start + index) % 250 for index in range(150)), max_new=2, ignore_stop=True) for start in (0, 40, 0, 80)]
    policy = Policy(prefill_chunk=32, capture_grid=32, budget_bytes=4 * model.shape.state_bytes + 200 * model.shape.bytes_per_token).replace(**choices)
    recording = Lab(model, policy).run(Workload("owners", tuple(prompts)), progress=False, check=True)
    assert recording.events.filter(pl.col("kind") == "violation").is_empty()


def test_bytes_without_an_owner_are_a_violation() -> None:
    kept: list[mx.array] = []

    def hoard(event: Event) -> None:
        if isinstance(event, ChunkRan) and not kept:
            kept.append(mx.zeros(4096))
            mx.eval(kept)

    model = MLXModel("net", nets.convolution(), nets.bytes_tokenizer(), context=8192)
    recording = Lab(model, Policy(prefill_chunk=32)).run(Request(tokens=tuple(range(100)), max_new=2), progress=False, check=True, each=hoard)
    broken = recording.events.filter(pl.col("kind") == "violation")
    assert set(broken["rule"]) == {"unattributed"}
    assert "16384 bytes in use belong to no owner" in broken["message"][0]
