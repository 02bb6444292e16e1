"""What the tiny configs have in common: the fields that a config leaves out, and values that several of them share.

An architecture reads of `COMMON` only what it knows. Windows hold 8 tokens, so that they wrap within the prefix.
"""

from __future__ import annotations

from typing import Any

VOCABULARY = 128
"""Token ids of every config unless it says otherwise."""

COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "layer_norm_eps": 1e-5,
    "layer_norm_epsilon": 1e-5,
    "norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.5,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "use_bias": False,
    "use_qk_norm": True,
    "sliding_window": 8,
    # mixtures of experts: the first layer dense, the second one mixed
    "moe_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [0],
    "moe_layer_freq": 1,
    "n_group": 1,
    "topk_group": 1,
    "routed_scaling_factor": 1.0,
    "norm_topk_prob": True,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    # latent attention
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    # an index that picks few of the keys
    "index_n_heads": 2,
    "index_head_dim": 16,
    "index_topk": 4,
    # gated delta rules
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    # state-space layers
    "conv_kernel": 4,
    "use_conv_bias": True,
    "logits_scaling": 1.0,
    "attention_multiplier": 0.25,
    "embedding_multiplier": 1.0,
    "residual_multiplier": 1.0,
}

SLIDING, FULL = "sliding_attention", "full_attention"

BOTH = [SLIDING, FULL]

ROPES: dict[str, Any] = {SLIDING: {"rope_type": "default", "rope_theta": 10000.0}, FULL: {"rope_type": "default", "rope_theta": 100000.0}}

MISTRAL4_ROPE: dict[str, Any] = {"rope_theta": 10000.0, "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 16, "type": "default"}
"""Positions scale queries from 16 on."""
