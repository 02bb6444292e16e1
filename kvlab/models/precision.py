"""Which number type a model's weights take on this machine, by name.

On a CPU only float32 reaches the fast matrix product (`blas.py`), so it is the default there; on a GPU weights stay as stored.
"""

# pyright: standard
from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.errors import BadValue

if TYPE_CHECKING:
    import mlx.core as mx

DTYPES = ("float32", "float16", "bfloat16", "stored")
"""What `dtype` may be; `stored` keeps the file's own quantisation."""


def on_gpu() -> bool:
    """Whether MLX computes on a GPU here."""
    import mlx.core as mx

    return mx.default_device().type == mx.DeviceType.gpu


def device() -> str:
    """Return the device as a manifest names it: `gpu` or `cpu`."""
    return "gpu" if on_gpu() else "cpu"


def resolve(dtype: str | None) -> str:
    """Return the name of the number type to load: `dtype`, or this machine's default.

    Raises:
        BadValue: the name is not one of `DTYPES`.
    """
    if dtype is None:
        return "stored" if on_gpu() else "float32"
    if dtype not in DTYPES:
        raise BadValue(
            what=f"dtype cannot be {dtype!r}",
            why=f"the number types are {', '.join(DTYPES)}",
            hint="leave dtype out for this machine's default",
        )
    return dtype


def activations(dtype: str) -> mx.Dtype:
    """Return the number type that activations take when weights are loaded as `dtype` (a resolved name).

    Quantised weights compute in the type of their scales; half precision is 20x slower than float32 on a CPU.
    """
    import mlx.core as mx

    if dtype == "stored":
        return mx.float16 if on_gpu() else mx.float32
    return {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}[dtype]
