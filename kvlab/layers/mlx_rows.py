"""The rows of one mlx-lm cache object with a row a token: read, replaced, and added to as a forward would.

A `KVCache` and a `ConcatenateKVCache` have two arrays, keys and values; a `QuantizedKVCache` has six: packed numbers, scales and biases of
each. Tokens are the last axis but one in all of them.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx


def rows_of(cache: Any) -> list[mx.array]:
    """Return the arrays of a cache; [] while it is unfilled."""
    if cache.keys is None:
        return []
    return [*cache.keys, *cache.values] if is_quantised(cache) else [cache.keys, cache.values]


def is_quantised(cache: Any) -> bool:
    """Whether a cache keeps packed numbers; mlx-lm's attention checks the same way."""
    return hasattr(cache, "bits")


def install(cache: Any, rows: Sequence[mx.array]) -> None:
    """Make `rows`, in the order of `rows_of`, the arrays of a cache."""
    half = len(rows) // 2
    cache.keys, cache.values = (tuple(rows[:half]), tuple(rows[half:])) if is_quantised(cache) else rows


def append(cache: Any, rows: Sequence[mx.array]) -> None:
    """Add `rows` at the offset of a cache, whose buffers grow as in a forward; they share nothing with `rows`. Not evaluated."""
    if is_quantised(cache):
        _append_packed(cache, rows)
    elif cache.keys is None:
        # the simplest class would take the given arrays themselves
        cache.update_and_fetch(*map(mx.array, rows))
    else:
        cache.update_and_fetch(*rows)


def _append_packed(cache: Any, rows: Sequence[mx.array]) -> None:
    # what mlx-lm's own method does with what it has packed; it cannot be given packed numbers
    start, tokens = cache.offset, rows[0].shape[-2]
    held = rows_of(cache) or [one[..., :0, :] for one in rows]
    if start + tokens > held[0].shape[-2]:
        kept = [one[..., :start, :] for one in held] if start % cache.step else held
        more = -(-tokens // cache.step) * cache.step
        held = [mx.concatenate([one, mx.zeros((*one.shape[:-2], more, one.shape[-1]), one.dtype)], axis=-2) for one in kept]
    for one, new in zip(held, rows, strict=True):
        one[..., start : start + tokens, :] = new
    install(cache, held)
    cache.offset = start + tokens
