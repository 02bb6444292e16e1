"""The arrays that a net keeps: its parameters, and what its layers compute once and keep (rotary frequencies)."""

# pyright: standard
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn


def weights_of(net: nn.Module) -> list[mx.array]:
    """Return all arrays that `net` keeps, each once, evaluated."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    found: dict[int, mx.array] = {}
    for module in net.modules():
        # a module is a dict of its own arrays and children; `parameters` leaves out the private ones
        leaves: Any = tree_flatten(dict(module))
        found.update((id(leaf), leaf) for _, leaf in leaves if isinstance(leaf, mx.array))
    arrays = list(found.values())
    mx.eval(arrays)
    return arrays
