"""Labs on which the triggers run on real arrays: nets with random weights or trained here, each small enough for a CPU."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab

CONV_WIDTH = 64
CONV_TAIL = 2
"""Rows that the short convolution keeps: its kernel of 3 less one."""


def attention() -> Lab:
    """Return a llama of two layers with random weights: full attention only."""
    from kvlab.lab.lab import Lab
    from kvlab.models.tiny import random_llama
    from kvlab.policy import Policy

    return Lab(random_llama(hidden=128), Policy())


@cache
def hybrid() -> Lab:
    """Return tiny-hybrid, which comes with kvlab: Gated DeltaNet and full attention."""
    import kvlab

    return kvlab.open("tiny-hybrid")


def convolution() -> Lab:
    """Return an lfm2 with random weights: two layers of short convolution, whose state mlx-lm hands out as a view, and two of full attention."""
    from kvlab.lab.lab import Lab
    from kvlab.models.mlx_model import MLXModel
    from kvlab.models.random_net import build
    from kvlab.models.tiny import ByteTokenizer
    from kvlab.policy import Policy

    return Lab(MLXModel("random lfm2", build("lfm2", _LFM2, ()), ByteTokenizer(256), context=4096), Policy())


_LFM2 = {
    "model_type": "lfm2",
    "vocab_size": 256,
    "hidden_size": CONV_WIDTH,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "norm_eps": 1e-5,
    "conv_bias": False,
    "conv_L_cache": CONV_TAIL + 1,
    "block_dim": CONV_WIDTH,
    "block_ff_dim": 128,
    "block_multiple_of": 16,
    "block_ffn_dim_multiplier": 1.0,
    "block_auto_adjust_ff_dim": False,
    "full_attn_idxs": [1, 3],
    "rope_theta": 10000.0,
}
