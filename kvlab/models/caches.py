"""The empty cache objects that a model's live buffers are: mlx-lm's own choice, or the same with quantised keys and values."""

# pyright: standard
from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue, NotAvailable

if TYPE_CHECKING:
    from mlx import nn

BITS = (2, 4, 8)
"""Bits a number may take: what mlx-lm's `QuantizedKVCache` lays out right."""

GROUPS = (64, 32)
"""Numbers that share one scale and one bias, as many as divide a head."""

TRACED = 2
"""Tokens of a tracing forward: one is not always enough, as some nets treat a single token as decoding."""


def made(net: nn.Module) -> list[Any]:
    """Return the cache objects that mlx-lm makes for `net`, one a layer."""
    from mlx_lm.models.cache import make_prompt_cache

    return make_prompt_cache(net)


def quantised(net: nn.Module, bits: int) -> list[Any]:
    """Return the same with a `QuantizedKVCache` in the place of every `KVCache`; windows and recurrent states stay as they are.

    Raises:
        BadValue: `bits` is none of `BITS`.
        NotAvailable: the net has no such layer, its heads cannot be packed, or its attention does not read packed numbers.
    """
    from mlx_lm.models.cache import KVCache, QuantizedKVCache

    if bits not in BITS:
        raise BadValue(what=f"keys and values of {bits} bits", why=f"a number takes {', '.join(map(str, BITS))} bits", hint="use 8, which costs least accuracy")
    caches = made(net)
    for layer, filled in enumerate(traced(net, caches)):
        if type(caches[layer]) is KVCache and not filled.empty():
            caches[layer] = QuantizedKVCache(_group_of(layer, (filled.keys.shape[-1], filled.values.shape[-1])), bits)
    if not any(type(cache) is QuantizedKVCache for cache in caches):
        raise _cannot("none of its layers keeps a KVCache")
    try:
        compute(traced(net, caches))
    # whatever an architecture raises when it finds packed numbers
    except Exception as error:
        raise _cannot(f"its attention does not read them: {error}") from error
    return caches


def traced(net: nn.Module, caches: Sequence[Any]) -> list[Any]:
    """Return copies of empty `caches` after a forward of `TRACED` tokens, which is built and not run: nothing is allocated until `compute`."""
    import mlx.core as mx

    copies = copy.deepcopy(list(caches))
    net(mx.zeros((1, TRACED), dtype=mx.int32), cache=copies)
    return copies


def compute(caches: Sequence[Any]) -> None:
    """Run the forward that filled `caches`."""
    import mlx.core as mx

    mx.eval([cache.state for cache in caches if cache is not None])


def _group_of(layer: int, heads: tuple[int, int]) -> int:
    for size in GROUPS:
        if not any(head % size for head in heads):
            return size
    raise _cannot(f"layer {layer} has heads of {' and '.join(map(str, sorted(set(heads))))} numbers, which {GROUPS[-1]} does not divide")


def _cannot(why: str) -> NotAvailable:
    return NotAvailable(what="this model cannot keep quantised keys and values", why=why, hint="open it without kv_bits")
