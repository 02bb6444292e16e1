"""Checks MLX's matrix product on the CPU against NumPy."""

# pyright: standard
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

SHAPES = ((7, 33, 5), (37, 96, 130))
"""Rows, inner size, columns, checked with every number type."""

FLOAT32_SHAPES = ((1, 33, 5), (1, 576, 1536), (64, 64, 64), (128, 576, 257))
"""Those checked with float32 alone: one row, a square, a real model's sizes."""

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5}
"""Largest difference allowed, as a share of the product of the operands' absolute values."""

_rounds = itertools.count(1)


def disagreement() -> str | None:
    """Return None when MLX's products agree with NumPy's for every shape and number type, else the first that does not.

    Plain, transposed and batched operands are checked. Each call draws other numbers: a product that writes nothing could
    otherwise find the last call's right answer in a recycled buffer.
    """
    import mlx.core as mx
    import numpy as np

    # made from a count of calls, so a run can be repeated
    random = np.random.default_rng(next(_rounds))
    cases = [*itertools.product(TOLERANCE, SHAPES), *itertools.product(("float32",), FLOAT32_SHAPES)]
    for kind, (rows, inner, columns) in cases:
        left = _draw(random, kind, (2, rows, inner))
        right = _draw(random, kind, (2, inner, columns))
        turned = np.ascontiguousarray(right.swapaxes(1, 2))
        with mx.stream(mx.cpu):
            first, second, across = (mx.array(values, dtype=getattr(mx, kind)) for values in (left, right, turned))
            products = (first[0] @ second[0], first[0] @ across[0].T, first @ across.swapaxes(1, 2))
            got = [np.array(product) for product in products]
        wide = "complex128" if kind == "complex64" else "float64"
        expected = left.astype(wide) @ right.astype(wide)
        scale = np.abs(left).astype("float64") @ np.abs(right).astype("float64")
        for product, at in zip(got, (0, 0, slice(None)), strict=True):
            apart = float(np.max(np.abs(product - expected[at]) / scale[at]))
            if not apart <= TOLERANCE[kind]:
                return f"a {kind} product of {rows}x{inner} and {inner}x{columns} differs from NumPy's by {apart:.1e} of its size"
    return None


def _draw(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    values = random.standard_normal(shape)
    if kind == "complex64":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(kind)
