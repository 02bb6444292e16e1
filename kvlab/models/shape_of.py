"""Traces a net's shape: the kind and price of every layer, read off real arrays.

One forward over `TRACED` tokens runs on throwaway caches; nothing is assumed about heads, sizes or number types.
Each cache class that kvlab can restore has one tracer in `TRACERS`; a new layer kind arrives as a new entry.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kvlab.errors import NotAvailable
from kvlab.models.weights import weights_of
from kvlab.shape import LayerGroup, Shape

if TYPE_CHECKING:
    from mlx import nn

TRACED = 2
"""Tokens of the tracing forward: one is not always enough, as some nets treat a single token as decoding."""


def shape_of(net: nn.Module, caches: Sequence[Any], name: str, context: int) -> Shape:
    """Return the shape of `net`, whose live caches are `caches`.

    Args:
        net: Any mlx-lm net, its weights evaluated.
        caches: Its cache objects, one a layer, as `make_prompt_cache` returns them. They are not touched.
        name: How the model is called.
        context: Tokens the model can hold; 0 when unknown.

    Raises:
        NotAvailable: a layer's cache is of a class that kvlab cannot restore yet.
    """
    import mlx.core as mx

    from kvlab.layers.mlx_store import parts

    for layer, cache in parts(caches):
        if type(cache).__name__ not in TRACERS:
            raise _unsupported(name, layer, type(cache).__name__)
    priced = [_Priced(TRACERS[type(cache).__name__](cache), layer) for layer, cache in parts(_traced(net))]
    weights = int(mx.get_array_buffer_size(weights_of(net)))
    return Shape(name=name, groups=_grouped(priced), weights_bytes=weights, context=context)


class _Priced:
    """One layer with the group it would make alone; layers whose groups differ in nothing but the layer share one."""

    __slots__ = ("group", "layer")

    def __init__(self, group: LayerGroup, layer: int) -> None:
        self.group = group
        self.layer = layer


def _traced(net: nn.Module) -> list[Any]:
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache

    caches: list[Any] = make_prompt_cache(net)
    net(mx.zeros((1, TRACED), dtype=mx.int32), cache=caches)
    mx.eval([cache.state for cache in caches])
    return caches


def _full_attention(cache: Any) -> LayerGroup:
    per_token = sum(array.nbytes // array.shape[2] for array in (cache.keys, cache.values))
    return LayerGroup(kind="kv", layers=(), bytes_per_token=per_token, growth_step=int(cache.step))


def _window(cache: Any) -> LayerGroup:
    per_token = sum(array.nbytes // array.shape[2] for array in (cache.keys, cache.values))
    window = int(cache.max_size)
    return LayerGroup(kind="rotating", layers=(), bytes_per_token=per_token, state_bytes=per_token * window, window=window, growth_step=int(cache.step))


def _state(cache: Any) -> LayerGroup:
    return LayerGroup(kind="recurrent", layers=(), state_bytes=sum(array.nbytes for array in cache.cache if array is not None))


TRACERS: dict[str, Callable[[Any], LayerGroup]] = {"KVCache": _full_attention, "RotatingKVCache": _window, "ArraysCache": _state}
"""By name of the mlx-lm cache class: reads one traced layer's kind and price."""


def _grouped(priced: Sequence[_Priced]) -> tuple[LayerGroup, ...]:
    members: dict[LayerGroup, list[int]] = {}
    for one in priced:
        members.setdefault(one.group, []).append(one.layer)
    return tuple(
        LayerGroup(
            kind=group.kind,
            layers=tuple(layers),
            bytes_per_token=group.bytes_per_token * len(layers),
            state_bytes=group.state_bytes * len(layers),
            window=group.window,
            growth_step=group.growth_step,
        )
        for group, layers in members.items()
    )


def _unsupported(name: str, layer: int, cache: str) -> NotAvailable:
    return NotAvailable(
        what=f"{name} cannot be run: its layer {layer} keeps a {cache}",
        why=f"kvlab restores {', '.join(sorted(TRACERS))} layers so far; {cache} arrives with other layer kinds",
        hint="open a model whose layers are of these classes, such as smollm2",
    )
