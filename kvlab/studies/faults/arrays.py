"""What MLX and mlx-lm do by themselves, as installed: slices, the metadata of a batch, a load. Each function makes its own arrays and returns figures."""

# pyright: standard
from __future__ import annotations

import copy
import gc
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvlab.lab.lab import Lab
from kvlab.policy import Policy

if TYPE_CHECKING:
    import mlx.core as mx

HEADS, WIDTH = 2, 32


def kept_by_copies(capacity: int, start: int, end: int) -> dict[str, tuple[int, int]]:
    """Return, by way of copying slots [start, end) out of a buffer of `capacity` slots, the slice's bytes and the bytes its result keeps alive.

    Snapshots need it: only one of these ways frees the source in every case.
    """
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
        # a buffer from the pool may be bigger than requested
        mx.clear_cache()
        source = mx.ones((1, HEADS, capacity, WIDTH))
        mx.eval(source)
        result = way(source[..., start:end, :])
        mx.eval(result)
        found[name] = (int(result.nbytes), int(mx.get_array_buffer_size([result])))
    return found


def metadata_graph(steps: int, *, evaluated: bool = False) -> tuple[int, int]:
    """Return (operations in the graph of `lengths`, bytes in use more than before) after `steps` decode steps.

    mlx-lm's `ArraysCache` keeps the `lengths` of a batch as an array that every decode step subtracts from, and that nothing evaluates. So its graph grows
    by a step's operations each time, and each keeps a small buffer alive, while the bytes look flat.

    Args:
        steps: Decode steps.
        evaluated: Evaluate the array at every step, as the cure does.
    """
    import mlx.core as mx
    from mlx_lm.models.cache import ArraysCache

    cache = ArraysCache(1)
    cache.prepare(lengths=[10_000])
    before = mx.get_active_memory()
    for _ in range(steps):
        cache.advance(1)
        if evaluated:
            mx.eval(cache.lengths)
    grown = mx.get_active_memory() - before
    drawn = io.StringIO()
    mx.export_to_dot(drawn, cache.lengths)
    return len(re.findall(r"->", drawn.getvalue())), grown


def transformed_at_load() -> Lab:
    """Return a lab on a random llama whose float32 weights were turned into float16 while it was loaded; the pool was empty before.

    Runners do so when they pack projections or change the number type: the consumed buffers go to the pool.
    """
    import mlx.core as mx
    from mlx.utils import tree_map

    from kvlab.models.mlx_model import MLXModel
    from kvlab.models.tiny import ByteTokenizer, random_llama

    net = random_llama(hidden=128).net
    gc.collect()
    mx.clear_cache()
    net.update(tree_map(lambda array: array.astype(mx.float16), net.parameters()))
    mx.eval(net.parameters())
    return Lab(MLXModel("random llama in float16", net, ByteTokenizer(256), context=4096), Policy())
