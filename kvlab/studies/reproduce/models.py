"""The models of the published experiments: the shipped shapes, weights included, which say what of them is a fact, what was fitted and what is a guess."""

from __future__ import annotations

from kvlab.lab.shapes import read_shape
from kvlab.shape import Shape
from kvlab.workloads.experiments import HYBRID_27B, HYBRID_35B, SLIDING_31B

BF16 = 2
DELTA_HEAD = 128
"""Width of a head of the delta rule, of keys and of values."""

KEY_HEADS = 16
"""Key heads of the delta rule in both hybrid models."""


def hybrid27() -> Shape:
    """qwen3.8:27b as shipped: gated delta, full attention, a draft layer; its weights are what the 50-turn table leaves for them."""
    return read_shape(HYBRID_27B)


def hybrid35() -> Shape:
    """qwen3.6:35b as shipped; its weights are the resident bytes before the first request (#17924)."""
    return read_shape(HYBRID_35B)


def sliding31() -> Shape:
    """gemma4:31b as shipped: sliding windows and full attention; its weights as the log of #17783 says."""
    return read_shape(SLIDING_31B)


def sliding26() -> Shape:
    """gemma4:26b-a4b as shipped."""
    return read_shape("gemma4-26b-a4b")


def kv_per_token(layers: int, heads: int, width: int) -> int:
    """Return the bytes a token takes in full-attention layers of bfloat16 keys and values."""
    return layers * 2 * heads * width * BF16


def delta_projection_rows(value_heads: int) -> tuple[int, int]:
    """Return the rows of a delta layer's packed input projections: of queries, keys, values and gate; of the two per-head scalars."""
    return 2 * KEY_HEADS * DELTA_HEAD + 2 * value_heads * DELTA_HEAD, 2 * value_heads
