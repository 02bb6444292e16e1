from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models import gemma3_text
from mlx_lm.models.cache import KVCache, make_prompt_cache

from kvlab.errors import NotAvailable
from kvlab.lab.lab import Lab
from kvlab.models.mlx_model import MLXModel
from kvlab.models.random_net import build
from kvlab.models.shape_of import shape_of
from kvlab.models.tiny import ByteTokenizer, random_llama
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from kvlab.workloads import Request
from tests.lab import nets
from tests.tools.conformance.configs import CONFIGS, config


def test_equal_layers_are_one_group_with_the_price_of_all() -> None:
    model = random_llama(layers=3, hidden=64, heads=4, kv_heads=2)
    # keys and values, of 2 heads of 64 / 4 numbers of 4 bytes, in 3 layers
    price = 2 * 2 * (64 // 4) * 4 * 3
    assert model.shape.groups == (LayerGroup(kind="kv", layers=(0, 1, 2), bytes_per_token=price, growth_step=256),)
    assert model.shape.weights_bytes == model.meter.weights()
    assert model.shape.context == 4096


def test_half_precision_costs_half() -> None:
    full = random_llama()
    whole = full.shape.bytes_per_token
    full.net.set_dtype(mx.float16)
    assert shape_of(full.net, make_prompt_cache(full.net), "half", 0).bytes_per_token == whole // 2


def test_tracing_leaves_the_live_caches_alone() -> None:
    model = random_llama()
    assert all(cache.empty() for cache in model.caches)


def test_a_sliding_window_costs_its_window() -> None:
    args = gemma3_text.ModelArgs(
        model_type="gemma3_text",
        hidden_size=32,
        num_hidden_layers=6,
        intermediate_size=32,
        num_attention_heads=2,
        head_dim=16,
        vocab_size=256,
        num_key_value_heads=1,
        query_pre_attn_scalar=16,
        sliding_window=8,
        sliding_window_pattern=3,
    )
    shape = MLXModel("sliding", gemma3_text.Model(args), ByteTokenizer()).shape
    # keys and values, of 1 head of 16 numbers of 4 bytes
    token = 2 * 1 * 16 * 4
    assert shape.groups == (
        LayerGroup(kind="rotating", layers=(0, 1, 3, 4), bytes_per_token=4 * token, state_bytes=4 * 8 * token, window=8),
        LayerGroup(kind="kv", layers=(2, 5), bytes_per_token=2 * token),
    )


def test_a_chunk_costs_its_window_and_grows_by_steps() -> None:
    # keys and values, of 2 heads of 16 numbers of 4 bytes
    token = 2 * 2 * 16 * 4
    assert MLXModel("chunks", nets.chunked(), ByteTokenizer()).shape.groups == (
        LayerGroup(kind="rotating", layers=(0, 1, 2), bytes_per_token=3 * token, state_bytes=3 * token * nets.WINDOW, window=nets.WINDOW, chunked=True),
        LayerGroup(kind="kv", layers=(3,), bytes_per_token=token),
    )


def test_a_layer_whose_cache_stays_unfilled_has_no_state() -> None:
    net = build("nemotron-nas", config("nemotron-nas"), CONFIGS["nemotron-nas"])
    model = MLXModel("without attention", net, ByteTokenizer())
    assert [(group.kind, group.layers) for group in model.shape.groups] == [("kv", (0,)), ("stateless", (1,))]
    assert [store.group.kind for store in model.stores] == ["kv"]
    recording = Lab(model, Policy()).run(Request(tokens=tuple(range(1, 40)), max_new=3, ignore_stop=True), progress=False, check=True)
    assert recording.requests["counted"].to_list() == recording.requests["predicted_counted"].to_list()


class UnknownCache(KVCache):
    """A cache class that kvlab has no rules for."""


def test_a_layer_that_cannot_be_restored_is_named() -> None:
    net = random_llama().net
    with pytest.raises(NotAvailable, match="UnknownCache") as caught:
        shape_of(net, [KVCache(), UnknownCache()], "odd", 0)
    assert "layer 1" in caught.value.what
