"""Traces a net's shape: the kind and price of every layer, read off real arrays.

One forward runs on copies of the empty caches; nothing is assumed about heads, sizes or number types.
Each cache class that kvlab can restore has one tracer in `TRACERS`; a new layer kind arrives as a new entry. A layer whose cache
the forward left unfilled has no state: it is listed last, as stateless.
"""

# pyright: standard
from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kvlab.errors import NotAvailable
from kvlab.models.caches import compute, traced
from kvlab.models.mlx_meter import weights_of
from kvlab.shape import LayerGroup, Shape

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn

CONV_AXES, MOST_CONV_ROWS = 3, 16
"""A recurrent layer's state of 3 axes with few rows is the tail of its convolution's input, a row a token: no kernel of mlx-lm is longer."""

VIEWS = frozenset({"Slice", "Split"})
"""Names of MLX's primitives whose result shares the buffer of what they read, among those that cut rows out."""

_LABEL = re.compile(r'\{ (\d+) \[label ="(\w+)"')
_SOURCE = re.compile(r'^(\d+) -> "', re.MULTILINE)


def shape_of(net: nn.Module, caches: Sequence[Any], name: str, context: int) -> Shape:
    """Return the shape of `net`, whose live caches are `caches`.

    Args:
        net: Any mlx-lm net, its weights evaluated.
        caches: Its cache objects, one a layer, as `kvlab.models.caches` makes them: empty. They are not touched.
        name: How the model is called.
        context: Tokens the model can hold; 0 when unknown.

    Raises:
        NotAvailable: a layer's cache is of a class that kvlab cannot restore yet.
    """
    import mlx.core as mx

    groups = groups_of(net, caches, name)
    weights = int(mx.get_array_buffer_size(weights_of(net)))
    return Shape(name=name, groups=groups, weights_bytes=weights, context=context)


def groups_of(net: nn.Module, caches: Sequence[Any], name: str, *, evaluate: bool = True, as_run: bool = True) -> tuple[LayerGroup, ...]:
    """Return the layers of `net` by kind and price; arguments and errors as in `shape_of`.

    Args:
        net: As in `shape_of`.
        caches: As in `shape_of`.
        name: As in `shape_of`.
        evaluate: False: the tracing forward is built and not run. Sizes and number types are known all the same, and nothing is allocated.
        as_run: A convolution's row costs nothing where this net copies its state out of the input. False: every state is taken for
            a view of its input, whatever mlx-lm's code does, as another runner of the same model may keep it.
    """
    from kvlab.layers.mlx_store import parts

    for layer, cache in parts(caches):
        if type(cache).__name__ not in TRACERS:
            raise _unsupported(name, layer, type(cache).__name__)
    copies = traced(net, caches)
    pinning = not as_run or _pins(cache for _, cache in parts(copies))
    if evaluate:
        compute(copies)
    groups = _grouped([_Priced(_priced(cache), layer) for layer, cache in parts(copies)])
    return groups if pinning else tuple(dataclasses.replace(group, conv_bytes_per_token=0) for group in groups)


def _pins(caches: Iterable[Any]) -> bool:
    """Return whether the convolutions' states are views of their inputs; the first one's answer holds for all, as they come from one class."""
    first = next((array for cache in caches if type(cache).__name__ == "ArraysCache" and not cache.empty() for array in _rows(cache)), None)
    return first is None or keeps_input(first)


def keeps_input(state: mx.array) -> bool:
    """Return whether `state`, of [1, rows, channels] and not computed yet, is a view of its forward's input, as the graph of its array shows.

    mlx-lm's recurrent layers store the last rows of their convolution's input. Some store a slice: a view, which keeps the input's whole
    buffer alive. Some copy the rows out first: such a state keeps nothing else alive.
    """
    import mlx.core as mx

    graph = io.StringIO()
    mx.export_to_dot(graph, state)
    text = graph.getvalue()
    sources = _SOURCE.findall(text)
    # an array without a graph was computed before: nothing is known, and a view is what must be reckoned with
    return not sources or dict(_LABEL.findall(text))[sources[-1]] in VIEWS


class _Priced:
    """One layer with the group it would make alone; layers whose groups differ in nothing but the layer share one."""

    __slots__ = ("group", "layer")

    def __init__(self, group: LayerGroup, layer: int) -> None:
        self.group = group
        self.layer = layer


def _priced(cache: Any) -> LayerGroup:
    return STATELESS if cache.empty() else TRACERS[type(cache).__name__](cache)


def _full_attention(cache: Any) -> LayerGroup:
    # a buffer that is concatenated grows by what is written
    return LayerGroup(kind="kv", layers=(), bytes_per_token=_per_token(cache), growth_step=int(getattr(cache, "step", 1)))


def _window(cache: Any) -> LayerGroup:
    from kvlab.layers.mlx_store import window_of

    per_token, window = _per_token(cache), window_of(cache)
    return LayerGroup(
        kind="rotating",
        layers=(),
        bytes_per_token=per_token,
        state_bytes=per_token * window,
        window=window,
        growth_step=int(cache.step),
        chunked=hasattr(cache, "chunk_size"),
    )


def _per_token(cache: Any) -> int:
    from kvlab.layers.mlx_rows import rows_of

    return sum(array.nbytes // array.shape[-2] for array in rows_of(cache))


def _state(cache: Any) -> LayerGroup:
    arrays = [array for array in cache.cache if array is not None]
    return LayerGroup(
        kind="recurrent",
        layers=(),
        state_bytes=sum(array.nbytes for array in arrays),
        conv_bytes_per_token=sum(array.nbytes // array.shape[1] for array in _rows(cache)),
    )


def _rows(cache: Any) -> list[Any]:
    """Return the states of a recurrent layer that are the last rows of its convolution's input."""
    return [array for array in cache.cache if array is not None and array.ndim == CONV_AXES and 0 < array.shape[1] < MOST_CONV_ROWS]


TRACERS: dict[str, Callable[[Any], LayerGroup]] = {
    "KVCache": _full_attention,
    "QuantizedKVCache": _full_attention,
    "ConcatenateKVCache": _full_attention,
    "RotatingKVCache": _window,
    "ChunkedKVCache": _window,
    "ArraysCache": _state,
}
"""By name of the mlx-lm cache class: reads one traced layer's kind and price."""

STATELESS = LayerGroup(kind="stateless", layers=())
"""What a layer is whose cache object a forward leaves unfilled."""


def _grouped(priced: Sequence[_Priced]) -> tuple[LayerGroup, ...]:
    members: dict[LayerGroup, list[int]] = {}
    for one in priced:
        members.setdefault(one.group, []).append(one.layer)
    # layers without state have no store: last, they leave the other groups' places as they are
    if STATELESS in members:
        members[STATELESS] = members.pop(STATELESS)
    return tuple(
        dataclasses.replace(
            group,
            layers=tuple(layers),
            bytes_per_token=group.bytes_per_token * len(layers),
            state_bytes=group.state_bytes * len(layers),
            conv_bytes_per_token=group.conv_bytes_per_token * len(layers),
        )
        for group, layers in members.items()
    )


def _unsupported(name: str, layer: int, cache: str) -> NotAvailable:
    return NotAvailable(
        what=f"{name} cannot be run: its layer {layer} keeps a {cache}",
        why=f"kvlab restores {', '.join(sorted(TRACERS))} layers so far; {cache} arrives with other layer kinds",
        hint="open a model whose layers are of these classes, such as smollm2",
    )
