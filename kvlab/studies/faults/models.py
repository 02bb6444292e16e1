"""The models of the triggers: shapes at unit prices for the twin, and nets small enough for a CPU.

Unit prices: 1 byte a KV token, 10 bytes a recurrent state, 2 bytes a row of its convolution's input.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING

from kvlab.lab import Twin
from kvlab.shape import LayerGroup, Shape

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab

KV = LayerGroup("kv", (1,), bytes_per_token=1, growth_step=4)
RECURRENT = LayerGroup("recurrent", (0,), state_bytes=10, conv_bytes_per_token=2)
DRAFT = LayerGroup("draft_kv", (2,), bytes_per_token=1, growth_step=4)


def kv_twin() -> Twin:
    """Return a twin with full attention only."""
    return Twin(Shape("kv", (KV,)))


def hybrid_twin() -> Twin:
    """Return a twin with a recurrent layer before one of full attention."""
    return Twin(Shape("recurrent+kv", (RECURRENT, KV)))


def draft_twin() -> Twin:
    """Return the same with a draft layer with a look-ahead of one token."""
    return Twin(Shape("recurrent+kv+draft_kv", (RECURRENT, KV, DRAFT), look_ahead=1))


ROUND_STATES = 3
"""States of a speculative round of four tokens: the one that is drafted from, and three drafts."""


def speculative_twin() -> Twin:
    """Return a hybrid with a draft layer whose rounds leave `ROUND_STATES` states in one allocation."""
    rounds = dataclasses.replace(RECURRENT, round_states=ROUND_STATES)
    return Twin(Shape("recurrent+kv+draft_kv", (rounds, KV, DRAFT), look_ahead=1))


CONV_WIDTH = 64
CONV_TAIL = 2
"""Rows that the short convolution keeps: its kernel of 3 less one."""


def attention_lab() -> Lab:
    """Return a llama of two layers with random weights: full attention only."""
    from kvlab.lab.lab import Lab
    from kvlab.models.tiny import random_llama
    from kvlab.policy import Policy

    return Lab(random_llama(hidden=128), Policy())


@cache
def hybrid_lab() -> Lab:
    """Return tiny-hybrid, which comes with kvlab: Gated DeltaNet and full attention."""
    import kvlab

    return kvlab.open("tiny-hybrid")


def convolution_lab() -> Lab:
    """Return an lfm2 with random weights: two layers of short convolution, whose state is a view in mlx-lm, and two of full attention."""
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
