"""Peak transients: bytes that a forward or a merge needs for a moment, beside what all owners hold. Plain functions on shape, policy and request.

Sources: mlx-lm 0.32's `KVCache` (a full buffer grows by being joined to new slots, layer by layer), MLX's attention (a head size without
a fused kernel makes the scores of the whole chunk), public facts on Ollama's merges (`data/SOURCES.md`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kvlab.cache import capture_offsets
from kvlab.layers import KV_KINDS
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape

SCORE_BYTES = 2
"""Bytes of one attention score in bfloat16."""


def growth(group: LayerGroup, capacity: int) -> int:
    """Return the bytes of one layer's old buffer of `capacity` tokens, which lives beside the new one while the layer grows."""
    return capacity * group.bytes_per_token // len(group.layers) if group.kind in KV_KINDS else 0


def largest_growth(shape: Shape, capacity: int) -> int:
    """Return the largest `growth` of any layer: layers grow one after the other."""
    return max((growth(group, capacity) for group in shape.groups), default=0)


def scores(heads: int, chunk: int, context: int, item: int = SCORE_BYTES) -> int:
    """Return the bytes of one layer's scores: every head of `chunk` tokens over `context` tokens, `item` bytes each."""
    return heads * chunk * context * item


def merge_copies(edges: Sequence[int], bytes_per_token: int) -> int:
    """Return the bytes of the inputs that merging a chain of edges consumes, one after the other from its beginning.

    Edge lengths are in tokens. Every merge reads what was joined so far and the next edge, so the sum grows with the square of their number.
    Under `lifetimes=sweep` all of it is held until the next sweep; under `scopes` each input goes as it is consumed.
    """
    joined = itertools.accumulate(edges)
    return bytes_per_token * sum(list(joined)[1:])


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
    capacity = capacity_after(tokens, policy)
    return max(largest_growth(shape, capacity), scores(heads, min(policy.prefill_chunk, tokens), tokens))


def cold_request(shape: Shape, policy: Policy, tokens: int, held: int = 0) -> int:
    """Return the bytes that all owners hold at the end of a cold prompt of `tokens` that asks for no reply, beside `held` of other branches.

    Its own full attention is still lazy; the live buffers, every capture's whole state and the one stored at close are held, and with
    `capture_as=view` the convolution's input of the forward that ended at each of them.
    """
    last = tokens - 1
    if last < 1:
        return shape.weights_bytes + held
    stored = {*(one for one in capture_offsets(tokens, policy) if one < last), last}
    live = sum(capacity_after(last, policy, group.growth_step) * group.bytes_per_token for group in shape.groups if group.kind in KV_KINDS)
    return shape.weights_bytes + held + live + shape.state_bytes * (1 + len(stored)) + _pinned(shape, policy, stored, last)


def _pinned(shape: Shape, policy: Policy, stored: set[int], last: int) -> int:
    if policy.capture_as != "view":
        return 0
    edges = sorted({0, *range(policy.prefill_chunk, last, policy.prefill_chunk), *stored})
    forwards = [end - start for start, end in itertools.pairwise(edges) if end in stored]
    # a forward of one token hands out a state of its own
    return sum(group.conv_bytes_per_token for group in shape.groups) * sum(one for one in forwards if one > 1)
