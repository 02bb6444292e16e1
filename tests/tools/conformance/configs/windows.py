"""Architectures with layers that see a sliding window or a chunk, most with full attention.

Fields and their names are those that `ModelArgs` of each architecture reads in mlx-lm 0.32.2 (`mlx_lm/models/NAME.py`).
`llama4_text` alone makes no chunk; it shares its fields with `llama4`.
"""

from __future__ import annotations

from typing import Any

from tests.tools.conformance.configs.common import BOTH, FULL, MISTRAL4_ROPE, ROPES, SLIDING, VOCABULARY

LLAMA4: dict[str, Any] = {"intermediate_size_mlp": 96}

WINDOWS: dict[str, dict[str, Any]] = {
    "afmoe": {"layer_types": BOTH, "num_dense_layers": 1},
    "cohere2": {"sliding_window_pattern": 2},
    "exaone4": {"rope_scaling": None, "sliding_window_pattern": "LG"},
    "exaone_moe": {"layer_types": BOTH, "is_moe_layer": [False, True]},
    "gemma3": {"text_config": {"sliding_window_pattern": 2}},
    "gemma3_text": {"sliding_window_pattern": 2},
    "gemma3n": {
        "text_config": {
            "num_hidden_layers": 4,
            "num_kv_shared_layers": 2,
            "vocab_size_per_layer_input": VOCABULARY,
            "rope_local_base_freq": 10000.0,
            "final_logit_softcapping": 30.0,
            "layer_types": [SLIDING, FULL, SLIDING, FULL],
            "activation_sparsity_pattern": [0.5, 0.0, 0.0, 0.0],
            "hidden_size_per_layer_input": 16,
            "altup_num_inputs": 2,
            "altup_coef_clip": 120.0,
            "altup_correct_scale": True,
            "altup_active_idx": 0,
            "laurel_rank": 8,
        }
    },
    "gemma4": {
        "text_config": {
            "num_hidden_layers": 4,
            "num_kv_shared_layers": 2,
            "layer_types": [SLIDING, FULL, SLIDING, FULL],
            "global_head_dim": 32,
            "vocab_size_per_layer_input": VOCABULARY,
            "hidden_size_per_layer_input": 16,
        }
    },
    "gemma4_text": {
        "layer_types": BOTH,
        "num_kv_shared_layers": 0,
        "global_head_dim": 32,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
        "enable_moe_block": True,
        "top_k_experts": 2,
        "hidden_size_per_layer_input": 0,
    },
    "gpt_oss": {"layer_types": BOTH},
    "iquestloopcoder": {"loop_window_size": 8},
    "laguna": {"layer_types": BOTH, "rope_parameters": ROPES, "num_attention_heads_per_layer": [8, 4]},
    "llama": {"layer_types": BOTH},
    "llama4": {
        "text_config": LLAMA4
        | {"num_hidden_layers": 4, "attention_chunk_size": 8, "interleave_moe_layer_step": 2, "num_experts_per_tok": 1, "rope_scaling": None}
    },
    "llama4_text": LLAMA4 | {"no_rope_layers": [1, 0]},
    "mellum": {"layer_types": BOTH, "rope_parameters": ROPES},
    "mimo_v2_flash": {
        "hybrid_layer_pattern": [1, 0],
        "moe_layer_freq": [0, 1],
        "add_swa_attention_sink_bias": True,
        "add_full_attention_sink_bias": False,
        "sliding_window_size": 8,
        "layernorm_epsilon": 1e-5,
        "swa_rope_theta": 10000.0,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "swa_head_dim": 16,
        "swa_v_head_dim": 8,
    },
    "ministral3": {"layer_types": BOTH, "rope_parameters": MISTRAL4_ROPE},
    "muse_glimmer": {"layer_types": BOTH, "layer_rope_theta": [10000.0, 0.0]},
    "muse_spark": {
        "text_config": {
            "layer_types": BOTH,
            "layer_rope_theta": [10000.0, 0.0],
            "rope_parameters": {"rope_theta": 10000.0},
            "post_norm_eps": 1e-8,
            "final_logit_softcapping": 20.0,
            "output_multiplier": 1.0,
            "moe_hidden_size": 32,
            "num_shared_experts": 0,
        }
    },
    "olmo3": {"layer_types": BOTH},
    "plamo3": {"window_size": 8, "sliding_window_pattern": 2},
    "spark2_5": {"layer_types": BOTH, "rope_parameters": ROPES},
    "step3p5": {
        "layer_types": BOTH,
        "num_attention_groups": 2,
        "attention_other_setting": {"num_attention_heads": 8, "num_attention_groups": 2},
        "moe_num_experts": 4,
        "moe_top_k": 2,
        "share_expert_dim": 32,
    },
}
"""Nets with windows or chunks."""
