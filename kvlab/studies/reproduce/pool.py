"""D9: projections are packed while weights are loaded; what is consumed goes to the allocator's pool and stays until it is cleared."""

from __future__ import annotations

from kvlab.recording.reported import reported
from kvlab.shape import Shape
from kvlab.studies.reproduce.models import BF16, delta_projection_rows, hybrid27, sliding31
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made
from kvlab.units import GIB

HIDDEN = 5120
"""Width of qwen3.8:27b, as in its family's public configs."""

WEIGHT_BYTES = (4 + 8 / 16) / 8
"""Bytes of a weight of 4 bits with a scale of 8 bits for every 16 (NVFP4)."""

VALUE_HEADS = 48


def packed(shape: Shape, hidden: int, value_heads: int) -> int:
    """Return the bytes of the buffers that packing the delta layers' input projections consumes; 0 without such layers."""
    layers = sum(len(group.layers) for group in shape.groups if group.kind == "recurrent")
    quantised, plain = delta_projection_rows(value_heads)
    return round(layers * hidden * (quantised * WEIGHT_BYTES + plain * BF16))


def make(published: Published) -> Made:
    """Compute what is left in the pool and what is reported with and without it."""
    del published
    pool, weights = packed(hybrid27(), HIDDEN, VALUE_HEADS), hybrid27().weights_bytes
    figures = {
        "pool_after_load": pool / GIB,
        "reported_before": reported(weights=weights, live=0, paged_out=0, pool=pool) / GIB,
        "reported_after": reported(weights=weights, live=0, paged_out=0) / GIB,
        "gemma4_pool": packed(sliding31(), HIDDEN, VALUE_HEADS) / GIB,
    }
    return Made(figures)
