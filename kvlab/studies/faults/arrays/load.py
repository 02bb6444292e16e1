"""A load that transforms its weights, as runners do when they pack projections or change the number type: the consumed buffers go to the pool."""

# pyright: standard
from __future__ import annotations

import gc

from kvlab.lab.lab import Lab
from kvlab.policy import Policy


def transformed_at_load() -> Lab:
    """Return a lab on a random llama whose float32 weights were turned into float16 while it was loaded; the pool was empty before."""
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
