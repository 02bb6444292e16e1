"""Peak transients: bytes that a forward needs for a moment, on top of what all owners hold. Plain functions on shape, policy and request.

Sources: mlx-lm 0.32's `KVCache` (a full buffer grows by being joined to new slots, layer by layer), MLX's attention (a head size without
a fused kernel makes the scores of the whole chunk).
"""

from __future__ import annotations

from kvlab.cache import capture_offsets
from kvlab.layers import KV_KINDS
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape

SCORE_BYTES = 2
"""Bytes of one attention score in bfloat16."""


def growth(group: LayerGroup, capacity: int) -> int:
    """Return the bytes of one layer's old buffer of `capacity` tokens, which is held with the new one while the layer grows."""
    return capacity * group.bytes_per_token // len(group.layers) if group.kind in KV_KINDS else 0


def scores(heads: int, chunk: int, context: int, item: int = SCORE_BYTES) -> int:
    """Return the bytes of one layer's scores: every head of `chunk` tokens over `context` tokens, `item` bytes each."""
    return heads * chunk * context * item


def capacity_after(tokens: int, policy: Policy, step: int = 256) -> int:
    """Return the slots that an empty full-attention buffer has after a prefill of `tokens`, cut as the runner cuts it."""
    edges = sorted({*range(policy.prefill_chunk, tokens, policy.prefill_chunk), *capture_offsets(tokens + 1, policy), tokens} - {0})
    offset = capacity = 0
    for edge in [one for one in edges if one <= tokens]:
        if edge > capacity:
            capacity = (offset if offset % step else capacity) + -(-(edge - offset) // step) * step
        offset = edge
    return capacity


def prefill_transient(shape: Shape, policy: Policy, tokens: int, heads: int = 0) -> int:
    """Return the most bytes that the last forward of a prefill of `tokens` needs for a moment.

    The larger of a layer's old buffer while it grows and, for a model without a fused kernel (`heads` above 0), its scores: a layer
    has grown before it attends.
    """
    full = (group for group in shape.groups if group.kind in KV_KINDS)
    grown = max((growth(group, capacity_after(tokens, policy, group.growth_step)) for group in full), default=0)
    return max(grown, scores(heads, min(policy.prefill_chunk, tokens), tokens))
