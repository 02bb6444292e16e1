"""A tiny config for every architecture of mlx-lm 0.32.2, as data: the smallest sizes that still show all its kinds of layers.

`COMMON` fills what a config leaves out, also inside its `text_config`; an architecture reads of it only what it knows. Every field written in `CONFIGS` itself
must be known to the architecture. Windows hold 8 tokens, so that they wrap within the prefix; of layers that repeat there is one of each kind.
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
KDA: dict[str, Any] = {"kda_layers": [1], "num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}
"""The linear attention of Kimi's nets; its layers count from 1."""

LFM: dict[str, Any] = {"conv_bias": False, "conv_L_cache": 3, "full_attn_idxs": [1]}
LFM2: dict[str, Any] = LFM | {"block_dim": 64, "block_multiple_of": 16, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True}
LLAMA4: dict[str, Any] = {"intermediate_size_mlp": 96}
LONGCAT: dict[str, Any] = {
    "num_layers": 2,
    "ffn_hidden_size": 96,
    "expert_ffn_hidden_size": 32,
    "moe_topk": 2,
    "zero_expert_num": 2,
    "zero_expert_type": "identity",
    "mla_scale_q_lora": True,
    "mla_scale_kv_lora": True,
}
MISTRAL4_ROPE: dict[str, Any] = {"rope_theta": 10000.0, "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 16, "type": "default"}
"""Positions scale queries from 16 on."""

YARN: dict[str, Any] = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128, "mscale": 1.0, "mscale_all_dim": 1.0}

CONFIGS: dict[str, dict[str, Any]] = {
    "Klear": {},
    "afm7": {"hidden_dim": 64, "num_layers": 4, "num_kv_reuse_layers": 2, "num_heads": 4, "num_kv_heads": 2},
    "afmoe": {"layer_types": BOTH, "num_dense_layers": 1},
    "apertus": {"post_norm": True, "qk_norm": True},
    "baichuan_m1": {"sliding_window_layers": [0], "conv_window": 2},
    "bailing_hybrid": {"layer_group_size": 2, "group_norm_size": 4},
    "bailing_moe": {},
    "bailing_moe_linear": {"layer_group_size": 2, "group_norm_size": 4},
    "bailing_moe_v3": {"layer_group_size": 2},
    "bitnet": {},
    "cohere": {},
    "cohere2": {"sliding_window_pattern": 2},
    "dbrx": {
        "d_model": 64,
        "n_layers": 2,
        "n_heads": 4,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deepseek": {},
    "deepseek_v2": {"topk_method": "gready", "rope_scaling": YARN},
    "deepseek_v3": {},
    "deepseek_v32": {},
    "deepseek_v41": {
        "num_hidden_layers": 3,
        "o_groups": 2,
        "o_lora_rank": 16,
        "compress_ratios": [0, 1, 4],
        "kv_source_layer_ids": [1, 2],
        "index_source_layer_ids": [1, 2],
        "hc_mult": 2,
        "hc_sinkhorn_iters": 3,
    },
    "dots1": {},
    "ernie4_5": {},
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_layer_start_index": 1, "moe_k": 2, "moe_num_shared_experts": 1},
    "exaone": {"num_layers": 2},
    "exaone4": {"rope_scaling": None, "sliding_window_pattern": "LG"},
    "exaone_moe": {"layer_types": BOTH, "is_moe_layer": [False, True]},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 16},
    "gear": {"num_hidden_layers": 3, "layer_types": ["conv_mixer", SLIDING, FULL]},
    "gemma": {},
    "gemma2": {},
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
    "glm": {},
    "glm4": {},
    "glm4_moe": {"rope_scaling": None},
    "glm4_moe_lite": {},
    "glm_moe_dsa": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    "gpt2": {"n_ctx": 512, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 512},
    "gpt_bigcode": {"n_embd": 64, "n_layer": 2, "n_inner": 96, "n_head": 4, "n_positions": 512},
    "gpt_neox": {"rotary_emb_base": 10000, "rotary_pct": 0.5},
    "gpt_oss": {"layer_types": BOTH},
    "gptj": {"n_embd": 64, "n_positions": 512, "n_head": 4, "rotary_dim": 8, "n_layer": 2},
    "granite": {},
    "granitemoe": {},
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
    "helium": {},
    "hunyuan": {
        "moe_topk": 2,
        "num_shared_expert": 1,
        "use_mixed_mlp_moe": True,
        "use_cla": True,
        "cla_share_factor": 2,
        "num_hidden_layers": 4,
        "rope_scaling": {"type": "dynamic", "factor": 1.0, "alpha": 1000.0},
    },
    "hunyuan_v1_dense": {},
    "internlm2": {},
    "internlm3": {},
    "iquestloopcoder": {"loop_window_size": 8},
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
    "kimi_k25": {"text_config": {}},
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
    "kimi_vl": {"text_config": {}},
    "laguna": {"layer_types": BOTH, "rope_parameters": ROPES, "num_attention_heads_per_layer": [8, 4]},
    "lfm2": LFM2,
    "lfm2-vl": {"text_config": LFM2},
    "lfm2_moe": LFM | {"use_expert_bias": True, "num_dense_layers": 1},
    "lille-130m": {"block_size": 512, "n_embd": 64, "n_head": 4, "n_kv_heads": 2, "n_layer": 2},
    "llama": {"layer_types": BOTH},
    "llama4": {
        "text_config": LLAMA4
        | {"num_hidden_layers": 4, "attention_chunk_size": 8, "interleave_moe_layer_step": 2, "num_experts_per_tok": 1, "rope_scaling": None}
    },
    "llama4_text": LLAMA4 | {"no_rope_layers": [1, 0]},
    "longcat_flash": LONGCAT | {"attention_method": "MLA"},
    "longcat_flash_ngram": LONGCAT | {"ngram_vocab_size_ratio": 3, "emb_neighbor_num": 3, "emb_split_num": 2},
    "mamba": {"state_size": 16, "time_step_rank": 8},
    "mamba2": {
        "num_heads": 8,
        "state_size": 16,
        "intermediate_size": 128,
        "n_groups": 1,
        "time_step_limit": [0.0, 100.0],
        "time_step_rank": 8,
    },
    "mellum": {"layer_types": BOTH, "rope_parameters": ROPES},
    "mimo": {},
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
    "minicpm": {"dim_model_base": 32, "scale_depth": 1.4, "scale_emb": 2.0},
    "minicpm3": {"dim_model_base": 32, "scale_depth": 1.4, "scale_emb": 2.0, "rope_scaling": {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}},
    "minimax": {"shared_intermediate_size": 96, "rotary_dim": 8},
    "minimax_m3_vl": {
        "text_config": {
            "dense_intermediate_size": 96,
            "shared_intermediate_size": 32,
            "moe_layer_freq": [0, 1],
            "layer_types": [FULL, "sparse"],
            "index_block_size": 4,
            "index_topk_blocks": 2,
        }
    },
    "ministral3": {"layer_types": BOTH, "rope_parameters": MISTRAL4_ROPE},
    "mistral3": {"text_config": {"model_type": "llama"}},
    "mistral4": {"rope_parameters": MISTRAL4_ROPE},
    "mixtral": {},
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
    "nanbeige": {"num_loops": 2},
    "nanochat": {},
    "nemotron": {"hidden_act": "relu2"},
    "nemotron-nas": {
        "num_hidden_layers": 3,
        "block_configs": [
            {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.5}},
            {"attention": {"no_op": True}, "ffn": {"replace_with_linear": True}},
            {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
        ],
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
    "olmo": {"d_model": 64},
    "olmo2": {},
    "olmo3": {"layer_types": BOTH},
    "olmo_hybrid": {"layer_types": ["linear_attention", FULL], "linear_num_value_heads": 2, "linear_allow_neg_eigval": True},
    "olmoe": {},
    "openelm": {
        "num_transformer_layers": 2,
        "model_dim": 64,
        "ffn_dim_divisor": 16,
        "num_query_heads": [4, 4],
        "num_kv_heads": [2, 1],
        "ffn_multipliers": [1.0, 1.5],
    },
    "phi": {},
    "phi3": {},
    "phi3small": {
        # it blanks the logits of fixed ids up to 100351; a smaller vocabulary makes it write past its arrays
        "vocab_size": 100352,
        "hidden_size": 16,
        "dense_attention_every_n_layers": 2,
        "ff_intermediate_size": 96,
        "gegelu_limit": 20.0,
        "blocksparse_block_size": 32,
    },
    "phimoe": {"rope_scaling": {"type": "longrope", "short_factor": [1.0] * 8, "long_factor": [1.0] * 8, "short_mscale": 1.0, "long_mscale": 1.0}},
    "phixtral": {"num_vocab": VOCABULARY, "model_dim": 64, "num_heads": 4, "num_layers": 2, "rotary_dim": 8},
    "pixtral": {"text_config": {"model_type": "pixtral"}},
    "plamo": {"n_shared_head": 2},
    "plamo2": {"hidden_size_per_head": 16, "mamba_d_state": 16, "mamba_num_heads": 4, "mamba_step": 2},
    "plamo3": {"window_size": 8, "sliding_window_pattern": 2},
    "prism_hadamard_qwen35": {
        "tensor_namespace": "mlx-vlm-qwen3_5",
        "quantization": {"bits": 2, "group_size": 128, "mode": "affine"},
        "modules": [
            {"path": "model.embed_tokens", "embedding": True, "dtype": "float16", "block": 0},
            {"path": "model.layers.0.mlp.down_proj", "embedding": False, "dtype": "float16", "block": 512},
        ],
        "text_config": {"num_experts": 0, "full_attention_interval": 2, "hidden_size": 128, "intermediate_size": 512},
    },
    "qwen": {"kv_channels": 16},
    "qwen2": {},
    "qwen2_moe": {},
    "qwen2_vl": {"text_config": {}},
    "qwen3": {},
    "qwen3_5": {"text_config": {"num_experts": 0, "full_attention_interval": 2}},
    "qwen3_5_moe": {"text_config": {"full_attention_interval": 2}},
    "qwen3_moe": {},
    "qwen3_next": {"full_attention_interval": 2},
    "qwen3_vl": {"text_config": {}},
    "qwen3_vl_moe": {"text_config": {}},
    "recurrent_gemma": {
        "conv1d_width": 4,
        "logits_soft_cap": 30.0,
        "num_key_value_heads": 1,
        "attention_window_size": 8,
        "block_types": ["recurrent", "attention"],
    },
    "rwkv7": {"a_low_rank_dim": 8, "v_low_rank_dim": 8, "gate_low_rank_dim": 8, "decay_low_rank_dim": 8},
    "seed_oss": {},
    "smollm3": {"no_rope_layer_interval": 2},
    "solar_open": {},
    "spark2_5": {"layer_types": BOTH, "rope_parameters": ROPES},
    "stablelm": {"use_qkv_bias": True, "qk_layernorm": True},
    "starcoder2": {},
    "step3p5": {
        "layer_types": BOTH,
        "num_attention_groups": 2,
        "attention_other_setting": {"num_attention_heads": 8, "num_attention_groups": 2},
        "moe_num_experts": 4,
        "moe_top_k": 2,
        "share_expert_dim": 32,
    },
    "talkie": {},
    "telechat3": {},
    "youtu_llm": {},
}
"""By architecture, as mlx-lm names its modules: what differs from `COMMON`."""


def config(architecture: str) -> dict[str, Any]:
    """Return the whole config of an architecture, as a `config.json` would hold it."""
    own = CONFIGS[architecture]
    whole = {"model_type": architecture} | COMMON | own
    if "text_config" in own:
        whole["text_config"] = {"model_type": architecture} | COMMON | own["text_config"]
    return whole
