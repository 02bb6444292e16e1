"""Small nets with random weights, one of each layer mix: Gated-DeltaNet hybrid, sliding window, chunks, short convolution; and other cache objects."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten
from mlx_lm.models import gemma3_text, lfm2, llama4, qwen3_next
from mlx_lm.models.cache import ConcatenateKVCache

from kvlab.models.tiny import ByteTokenizer

WINDOW = 24


def hybrid() -> nn.Module:
    """Return two Gated-DeltaNet and two full-attention layers."""
    # The net draws its decay rates while it is built.
    mx.random.seed(0)
    return drawn(
        qwen3_next.Model(
            qwen3_next.ModelArgs(
                model_type="qwen3_next",
                hidden_size=64,
                num_hidden_layers=4,
                intermediate_size=128,
                num_attention_heads=4,
                linear_num_value_heads=4,
                linear_num_key_heads=2,
                linear_key_head_dim=16,
                linear_value_head_dim=16,
                linear_conv_kernel_dim=4,
                num_experts=0,
                num_experts_per_tok=0,
                decoder_sparse_step=1,
                shared_expert_intermediate_size=0,
                mlp_only_layers=[0, 1, 2, 3],
                moe_intermediate_size=0,
                rms_norm_eps=1e-6,
                vocab_size=256,
                num_key_value_heads=2,
                rope_theta=10000.0,
                partial_rotary_factor=0.5,
                max_position_embeddings=4096,
                head_dim=16,
                full_attention_interval=2,
            )
        )
    )


def sliding() -> nn.Module:
    """Return two sliding-window layers of `WINDOW` tokens and two full-attention layers."""
    return drawn(
        gemma3_text.Model(
            gemma3_text.ModelArgs(
                model_type="gemma3_text",
                hidden_size=64,
                num_hidden_layers=4,
                intermediate_size=128,
                num_attention_heads=4,
                head_dim=16,
                rms_norm_eps=1e-6,
                vocab_size=256,
                num_key_value_heads=2,
                rope_theta=1e6,
                rope_local_base_freq=10000.0,
                query_pre_attn_scalar=16,
                sliding_window=WINDOW,
                sliding_window_pattern=2,
                max_position_embeddings=4096,
            )
        )
    )


def chunked() -> nn.Module:
    """Return three layers with chunks of `WINDOW` tokens and a full-attention layer, as llama4 mixes them."""
    text: dict[str, Any] = {
        "attention_bias": False,
        "attention_chunk_size": WINDOW,
        "head_dim": 16,
        "hidden_act": "silu",
        "hidden_size": 64,
        "interleave_moe_layer_step": 2,
        "intermediate_size": 128,
        "intermediate_size_mlp": 128,
        "max_position_embeddings": 4096,
        "model_type": "llama4_text",
        "num_attention_heads": 4,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 4,
        "num_key_value_heads": 2,
        "num_local_experts": 2,
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "rope_theta": 10000.0,
        "use_qk_norm": True,
        "vocab_size": 256,
    }
    return drawn(llama4.Model(llama4.ModelArgs.from_dict({"model_type": "llama4", "text_config": text})))


def concatenating(net: nn.Module) -> list[Any]:
    """Return cache objects of the class that grows by what is written."""
    return [ConcatenateKVCache() for _ in net.layers]


def convolution() -> nn.Module:
    """Return two short-convolution and two full-attention layers; mlx-lm hands out its conv state as a view."""
    return drawn(
        lfm2.Model(
            lfm2.ModelArgs(
                model_type="lfm2",
                vocab_size=256,
                hidden_size=64,
                num_hidden_layers=4,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=4096,
                norm_eps=1e-5,
                conv_bias=False,
                conv_L_cache=3,
                block_dim=64,
                block_ff_dim=128,
                block_multiple_of=16,
                block_ffn_dim_multiplier=1.0,
                block_auto_adjust_ff_dim=False,
                full_attn_idxs=[1, 3],
                rope_theta=10000.0,
            )
        )
    )


def drawn(net: nn.Module) -> nn.Module:
    """Draw the weights from one seed and evaluate them."""
    named: Any = tree_flatten(net.parameters())
    keys = mx.random.split(mx.random.key(7), len(named))
    weights = [
        (name, array if array.ndim == 1 else mx.random.normal(array.shape, key=key) * array.shape[-1] ** -0.5)
        for (name, array), key in zip(named, keys, strict=True)
    ]
    net.load_weights(weights, strict=True)
    net.eval()
    mx.eval(net.parameters())
    return net


def bytes_tokenizer() -> ByteTokenizer:
    """Return a tokenizer of one token a byte."""
    return ByteTokenizer(256)
