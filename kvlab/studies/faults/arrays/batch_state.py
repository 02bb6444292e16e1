"""mlx-lm's `ArraysCache` as a batch keeps it: its `lengths` are an array that every decode step subtracts from, and that nothing evaluates.

So its graph grows by a step's operations each time, and each keeps a small buffer alive, while the bytes look flat.
"""

# pyright: standard
from __future__ import annotations

import io
import re


def metadata_graph(steps: int, *, evaluated: bool = False) -> tuple[int, int]:
    """Return (operations in the graph of `lengths`, bytes in use more than before) after `steps` decode steps.

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
