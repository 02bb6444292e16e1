"""The models of the published experiments: the shipped shapes (which say what of them is a fact and what a guess), with the weights of each report."""

from __future__ import annotations

from dataclasses import replace

from kvlab.lab.shapes import read_shape
from kvlab.shape import Shape
from kvlab.units import GIB

BF16 = 2
DELTA_HEAD = 128
"""Width of a head of the delta rule, of keys and of values."""

KEY_HEADS = 16
"""Key heads of the delta rule in both hybrid models."""


def hybrid27() -> Shape:
    """qwen3.8:27b as shipped: gated delta, full attention, a draft layer.

    Weights of 16.94 GiB: what the 50-turn table leaves for them; the report on the pool prints 16.9.
    """
    return replace(read_shape("qwen3.8-27b"), weights_bytes=round(16.94 * GIB))


def hybrid35() -> Shape:
    """qwen3.6:35b as shipped. Weights of 20.5 GiB: resident bytes before the first request (#17924)."""
    return replace(read_shape("qwen3.6-35b-a3b"), weights_bytes=round(20.5 * GIB))


def sliding31() -> Shape:
    """gemma4:31b as shipped: sliding windows and full attention. Weights of 16.96 GiB, as the log of #17783 says."""
    return replace(read_shape("gemma4-31b"), weights_bytes=round(16.96 * GIB))


def sliding26() -> Shape:
    """gemma4:26b-a4b as shipped."""
    return read_shape("gemma4-26b-a4b")


def kv_per_token(layers: int, heads: int, width: int) -> int:
    """Return the bytes a token takes in full-attention layers of bfloat16 keys and values."""
    return layers * 2 * heads * width * BF16


def delta_projection_rows(value_heads: int) -> tuple[int, int]:
    """Return the rows of a delta layer's packed input projections: of queries, keys, values and gate; of the two per-head scalars."""
    return 2 * KEY_HEADS * DELTA_HEAD + 2 * value_heads * DELTA_HEAD, 2 * value_heads
