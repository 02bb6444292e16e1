"""The gated delta rule of 16 tokens at once, for training on a CPU.

mlx-lm's own rule goes token by token where there is no Metal kernel; this one computes the same in matrix products (the WY form of
the delta rule, as in Gated Delta Networks, Yang et al. 2024) and halves the time of a step. Only training uses it.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mlx.core as mx

CHUNK = 16
"""Tokens computed at once; a power of two."""


@contextmanager
def in_use() -> Generator[None]:
    """Let mlx-lm's qwen3_next layers use this rule while the context lasts."""
    from mlx_lm.models import qwen3_next

    layers: Any = qwen3_next
    own = layers.gated_delta_update
    layers.gated_delta_update = update
    try:
        yield
    finally:
        layers.gated_delta_update = own


def update(
    q: mx.array, k: mx.array, v: mx.array, a: mx.array, b: mx.array, log_decay: mx.array, dt_bias: mx.array, *_: Any, **__: Any
) -> tuple[mx.array, mx.array]:
    """Return what mlx-lm's `gated_delta_update` returns from an empty state without a mask.

    Args:
        q: Queries, (batch, tokens, key heads, key size), scaled; tokens a multiple of `CHUNK`.
        k: Keys, of the same shape, of unit length.
        v: Values, (batch, tokens, value heads, value size).
        a: What decides the decay, (batch, tokens, value heads).
        b: What decides the strength of writing, of the same shape.
        log_decay: Each head's decay, as a logarithm.
        dt_bias: Each head's bias of `a`.
    """
    import mlx.core as mx
    from mlx import nn

    batch, length, heads, size = *v.shape[:3], v.shape[3]
    chunks = length // CHUNK

    def chunked(array: mx.array) -> mx.array:
        """Return `array` as (chunk, batch, head, token in chunk, size)."""
        return array.reshape(batch, chunks, CHUNK, heads, -1).transpose(1, 0, 3, 2, 4)

    shared = heads // k.shape[2]
    q, k, v = chunked(mx.repeat(q, shared, -2)), chunked(mx.repeat(k, shared, -2)), chunked(v)
    strength = chunked(mx.sigmoid(b))
    decay = mx.cumsum(chunked(-mx.exp(log_decay) * nn.softplus(a + dt_bias)), axis=-2)
    until = mx.tril(mx.ones((CHUNK, CHUNK)))
    # masked before the exponential too: what would overflow there is never used
    between = mx.exp(mx.where(until > 0, decay - decay.swapaxes(-1, -2), 0.0)) * until
    keys = k.swapaxes(-1, -2)
    solved = _inverse(((k * strength) @ keys) * between * mx.tril(mx.ones((CHUNK, CHUNK)), -1))
    written = solved @ (v * strength)
    read = solved @ (k * strength * mx.exp(decay))
    inside = (q @ keys) * between
    queries = q * mx.exp(decay)
    last = decay[..., -1:, :]
    kept = (k * mx.exp(last - decay)).swapaxes(-1, -2)
    state = mx.zeros((batch, heads, k.shape[-1], size))
    outputs: list[mx.array] = []
    for chunk in range(chunks):
        fresh = written[chunk] - read[chunk] @ state
        outputs.append(queries[chunk] @ state + inside[chunk] @ fresh)
        state = state * mx.exp(last[chunk]) + kept[chunk] @ fresh
    output = mx.stack(outputs).transpose(1, 0, 3, 2, 4).reshape(batch, length, heads, size)
    return output, state.swapaxes(-1, -2)


def _inverse(below: mx.array) -> mx.array:
    """Return the inverse of 1 + `below`, whose last two axes are strictly lower triangular: a finite series, summed by squaring."""
    import mlx.core as mx

    power = -below
    total = mx.eye(CHUNK) + power
    terms = 2
    while terms < CHUNK:
        power = power @ power
        total = total + power @ total
        terms *= 2
    return total
