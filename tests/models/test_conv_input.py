"""What a convolution's state keeps alive, as its graph tells it, is what the allocator holds for it."""

from __future__ import annotations

import mlx.core as mx
import pytest
from mlx_lm.models.cache import make_prompt_cache

from kvlab.models.random_net import build
from kvlab.models.shape_of import keeps_input, shape_of
from tests.tools.conformance.configs import CONFIGS, config

TOKENS = 2048
"""Enough rows that MLX does not hand a copy the buffer of what it copies: it does so when the buffer is less than 16 KiB larger."""


def test_a_slice_keeps_its_input_and_a_copy_does_not() -> None:
    rows = mx.zeros((1, 8, 4))
    assert keeps_input(rows[:, -3:, :])
    assert not keeps_input(mx.contiguous(rows[:, -3:, :]))


def test_an_array_without_a_graph_is_reckoned_a_view() -> None:
    rows = mx.zeros((1, 8, 4))
    mx.eval(rows)
    assert keeps_input(rows)


@pytest.mark.parametrize("architecture", ["granitemoehybrid", "mamba", "kimi_linear", "qwen3_next"])
def test_the_graph_tells_what_the_allocator_holds(architecture: str) -> None:
    net = build(architecture, config(architecture), CONFIGS[architecture])
    told = sum(group.conv_bytes_per_token for group in shape_of(net, make_prompt_cache(net), architecture, 0).groups)
    caches = make_prompt_cache(net)
    net(mx.zeros((1, TOKENS), dtype=mx.int32), cache=caches)
    mx.eval([cache.state for cache in caches])
    states = [array for cache in caches for array in getattr(cache, "cache", []) if array is not None and array.ndim == 3]
    held = sum(mx.get_array_buffer_size(array) for array in states)
    assert states
    if told:
        assert held >= told * TOKENS
    else:
        assert held < 2 * sum(array.nbytes for array in states)
