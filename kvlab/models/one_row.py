"""Products of one row with a large matrix, as every decode step makes them, in pieces that a CPU computes at memory speed.

OpenBLAS copies a large matrix into its own order before it multiplies, which pays for many rows and not for one; a small matrix it reads as it lies.
A view of the weights as several small matrices is a product for each: 1.6 times the tokens a second of a model of 135 million float32 weights.
Nothing is copied; prefill is as before, and so are weights that are quantised or of half precision.
"""

# pyright: standard
from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx import nn

MOST = 300_000
"""Numbers of a piece at most; OpenBLAS reads up to a million products as they lie (`SMALL_MATRIX_OPT`), and is fastest at a third of it."""


def split(net: nn.Module) -> None:
    """Let the linear layers of `net`, and embeddings that serve as one, compute a single row in pieces."""
    for layer in net.modules():
        # a subclass has a product of its own
        own = _OWN.get(type(layer))
        weight: Any = layer.get("weight")
        if own is not None and weight.dtype == mx.float32 and _pieces(*weight.shape) > 1:
            layer.__class__ = own


def _pieces(rows: int, inner: int) -> int:
    """Return in how many pieces of equally many rows a matrix is cut; 1 when there is no such number below 1,000."""
    return next((count for count in range(max(1, rows * inner // MOST), 1000) if rows % count == 0 and rows // count * inner <= MOST), 1)


def _product(row: mx.array, weight: mx.array) -> mx.array:
    rows, inner = weight.shape
    count = _pieces(rows, inner)
    pieces = weight.reshape(count, rows // count, inner)
    return (row.reshape(1, 1, inner) @ pieces.swapaxes(1, 2)).reshape(*row.shape[:-1], rows)


class _Linear(nn.Linear):
    def __call__(self, x: mx.array) -> mx.array:
        if x.size != x.shape[-1]:
            return super().__call__(x)
        made = _product(x, self.weight)
        return made + self.bias if "bias" in self else made


class _Embedding(nn.Embedding):
    def as_linear(self, x: mx.array) -> mx.array:
        return _product(x, self.weight) if x.size == x.shape[-1] else super().as_linear(x)


_OWN: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: _Linear, nn.Embedding: _Embedding}
