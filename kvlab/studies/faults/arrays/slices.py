"""What keeps a slice's source alive: the ways in which one may copy part of a buffer on MLX, and the bytes each result retains.

Needed where snapshots are taken: only one of these ways lets the source go in every case.
"""

# pyright: standard
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mlx.core as mx

HEADS, WIDTH = 2, 32


def kept_by_copies(capacity: int, start: int, end: int) -> dict[str, tuple[int, int]]:
    """Return, by way of copying slots [start, end) out of a buffer of `capacity` slots, the slice's bytes and the bytes its result keeps alive."""
    import mlx.core as mx

    ways: dict[str, Callable[[mx.array], mx.array]] = {
        "slice": lambda part: part,
        "copy.deepcopy(slice)": copy.deepcopy,
        "slice.astype(same type)": lambda part: part.astype(part.dtype),
        "mx.contiguous(slice)": mx.contiguous,
        "mx.array(slice)": mx.array,
    }
    found: dict[str, tuple[int, int]] = {}
    for name, way in ways.items():
        # a buffer from the pool may be bigger than what is asked for
        mx.clear_cache()
        source = mx.ones((1, HEADS, capacity, WIDTH))
        mx.eval(source)
        result = way(source[..., start:end, :])
        mx.eval(result)
        found[name] = (int(result.nbytes), int(mx.get_array_buffer_size([result])))
    return found
