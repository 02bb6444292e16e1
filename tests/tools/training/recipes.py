"""How each tiny model is built and trained: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.tools.training.byte_tokens import END, VOCABULARY

CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the training: so many steps, each of `rows` windows of `length` tokens (a multiple of 16)."""

    steps: int
    rows: int
    length: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a tiny model comes about.

    Attributes:
        name: The name that opens it.
        title: What it is, in a line.
        config: Its config.json, as mlx-lm reads it.
        phases: The training, in order.
        matrix_rate: The highest learning rate of the layers' matrices (Muon).
        other_rate: The highest learning rate of everything else (AdamW).
        warm_up: Steps over which the rates rise; after them they fall in a half cosine to nothing.
        chat_share: The share of rows that are conversations; the others are prose.
        seed: Seeds the weights and the choice of windows.
    """

    name: str
    title: str
    config: dict[str, Any]
    phases: tuple[Phase, ...]
    matrix_rate: float = 0.02
    other_rate: float = 0.003
    warm_up: int = 20
    chat_share: float = 0.25
    seed: int = 0

    @property
    def steps(self) -> int:
        """All steps."""
        return sum(phase.steps for phase in self.phases)

    @property
    def tokens(self) -> int:
        """Tokens trained on, repeats counted."""
        return sum(phase.steps * phase.rows * phase.length for phase in self.phases)

    def phase_at(self, step: int) -> Phase:
        """Return the phase that `step` (from 0) belongs to."""
        for phase in self.phases:
            if step < phase.steps:
                return phase
            step -= phase.steps
        return self.phases[-1]


_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "eos_token_id": [END],
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": CONTEXT,
    "tie_word_embeddings": True,
}

HYBRID = Recipe(
    name="tiny-hybrid",
    title="Gated DeltaNet in three layers, full attention in the fourth (mlx-lm's qwen3_next)",
    config=_COMMON
    | {
        "model_type": "qwen3_next",
        "num_hidden_layers": 4,
        "full_attention_interval": 4,
        "intermediate_size": 432,
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        # dense: no layer has experts, but mlx-lm wants their sizes
        "num_experts": 0,
        "num_experts_per_tok": 1,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "moe_intermediate_size": 128,
        "shared_expert_intermediate_size": 128,
    },
    phases=(Phase(steps=900, rows=16, length=128), Phase(steps=300, rows=8, length=256), Phase(steps=150, rows=4, length=512)),
)

SLIDING = Recipe(
    name="tiny-sliding",
    title="a window of 64 tokens in two of three layers, full attention in the third (mlx-lm's gemma3_text)",
    config=_COMMON
    | {
        "model_type": "gemma3_text",
        "num_hidden_layers": 6,
        "sliding_window": 64,
        "sliding_window_pattern": 3,
        "intermediate_size": 272,
        "query_pre_attn_scalar": 32,
        "rope_theta": 10000.0,
        "rope_local_base_freq": 500.0,
    },
    phases=(Phase(steps=650, rows=16, length=128), Phase(steps=220, rows=8, length=256), Phase(steps=130, rows=4, length=512)),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (HYBRID, SLIDING)}
"""Every recipe by the model's name."""
