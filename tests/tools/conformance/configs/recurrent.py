"""Architectures with recurrent layers: convolutions, delta rules, linear attention, state spaces; most with attention.

Fields and their names are those that `ModelArgs` of each architecture reads in mlx-lm 0.32.2 (`mlx_lm/models/NAME.py`).
"""

from __future__ import annotations

from typing import Any

from tests.tools.conformance.configs.common import FULL, SLIDING

KDA: dict[str, Any] = {"kda_layers": [1], "num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}
"""The linear attention of Kimi's nets; its layers count from 1."""
LFM: dict[str, Any] = {"conv_bias": False, "conv_L_cache": 3, "full_attn_idxs": [1]}
LFM2: dict[str, Any] = LFM | {"block_dim": 64, "block_multiple_of": 16, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True}

RECURRENT: dict[str, dict[str, Any]] = {
    "baichuan_m1": {"sliding_window_layers": [0], "conv_window": 2},
    "bailing_hybrid": {"layer_group_size": 2, "group_norm_size": 4},
    "bailing_moe_linear": {"layer_group_size": 2, "group_norm_size": 4},
    "bailing_moe_v3": {"layer_group_size": 2},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16},
    "gear": {"num_hidden_layers": 3, "layer_types": ["conv_mixer", SLIDING, FULL]},
    "granitemoehybrid": {
        "layer_types": ["mamba", "attention"],
        "shared_intermediate_size": 32,
        "mamba_n_heads": 4,
        "mamba_d_head": 16,
        "mamba_proj_bias": False,
        "mamba_d_state": 16,
        "mamba_d_conv": 4,
        "mamba_n_groups": 1,
        "mamba_conv_bias": True,
    },
    "jamba": {
        "num_hidden_layers": 2,
        "attn_layer_offset": 1,
        "attn_layer_period": 2,
        "expert_layer_offset": 1,
        "expert_layer_period": 2,
        "mamba_d_conv": 4,
        "mamba_d_state": 16,
        "mamba_expand": 2,
        "mamba_dt_rank": 8,
    },
    "kimi_k3": {
        "text_config": {
            "linear_attn_config": KDA,
            "attn_res_block_size": 1,
            "num_experts_per_token": 2,
            "activation_situ_beta": 1.0,
            "activation_situ_linear_beta": 1.0,
        }
    },
    "kimi_linear": {"linear_attn_config": KDA, "model_max_length": 512, "num_experts_per_token": 2},
    "lfm2": LFM2,
    "lfm2-vl": {"text_config": LFM2},
    "lfm2_moe": LFM | {"use_expert_bias": True, "num_dense_layers": 1},
    "mamba": {"state_size": 16, "time_step_rank": 8},
    "mamba2": {
        "num_heads": 8,
        "state_size": 16,
        "intermediate_size": 128,
        "n_groups": 1,
        "time_step_limit": [0.0, 100.0],
        "time_step_rank": 8,
    },
    "nemotron_h": {
        "num_hidden_layers": 4,
        "hybrid_override_pattern": "M*-E",
        "mamba_num_heads": 4,
        "mamba_head_dim": 16,
        "mamba_proj_bias": False,
        "ssm_state_size": 16,
        "n_groups": 1,
    },
    "olmo_hybrid": {"layer_types": ["linear_attention", FULL], "linear_num_value_heads": 2, "linear_allow_neg_eigval": True},
    "plamo2": {"hidden_size_per_head": 16, "mamba_d_state": 16, "mamba_num_heads": 4, "mamba_step": 2},
    "prism_hadamard_qwen35": {
        "tensor_namespace": "mlx-vlm-qwen3_5",
        "quantization": {"bits": 2, "group_size": 128, "mode": "affine"},
        "modules": [
            {"path": "model.embed_tokens", "embedding": True, "dtype": "float16", "block": 0},
            {"path": "model.layers.0.mlp.down_proj", "embedding": False, "dtype": "float16", "block": 512},
        ],
        "text_config": {"num_experts": 0, "full_attention_interval": 2, "hidden_size": 128, "intermediate_size": 512},
    },
    "qwen3_5": {"text_config": {"num_experts": 0, "full_attention_interval": 2}},
    "qwen3_5_moe": {"text_config": {"full_attention_interval": 2}},
    "qwen3_next": {"full_attention_interval": 2},
    "recurrent_gemma": {
        "conv1d_width": 4,
        "logits_soft_cap": 30.0,
        "num_key_value_heads": 1,
        "attention_window_size": 8,
        "block_types": ["recurrent", "attention"],
    },
    "rwkv7": {"a_low_rank_dim": 8, "v_low_rank_dim": 8, "gate_low_rank_dim": 8, "decay_low_rank_dim": 8},
}
"""Nets with recurrent layers."""
