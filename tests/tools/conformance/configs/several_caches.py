"""Architectures with more than one cache a layer: an index that picks keys, two attentions, or a cache class of its own.

Fields and their names are those that `ModelArgs` of each architecture reads in mlx-lm 0.32.2 (`mlx_lm/models/NAME.py`).
"""

from __future__ import annotations

from typing import Any

from tests.tools.conformance.configs.common import FULL

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

SEVERAL_CACHES: dict[str, dict[str, Any]] = {
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
    "glm_moe_dsa": {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    "longcat_flash": LONGCAT | {"attention_method": "MLA"},
    "longcat_flash_ngram": LONGCAT | {"ngram_vocab_size_ratio": 3, "emb_neighbor_num": 3, "emb_split_num": 2},
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
}
"""Nets whose layers keep more than one cache, none of them recurrent but the embedding of `longcat_flash_ngram`."""
