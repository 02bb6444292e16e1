"""A tiny model's net: built with fresh weights, saved as fp16, measured on text."""

# pyright: standard
from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tools.training import byte_tokens
from tests.tools.training.recipes import CONTEXT, Recipe

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn

WINDOW = 512
"""Tokens of a window that a loss is measured on."""

ROWS = 16
"""Windows measured at once."""


def build(recipe: Recipe) -> nn.Module:
    """Return the recipe's net with fresh float32 weights, drawn from its seed alone."""
    import mlx.core as mx
    from mlx.utils import tree_map
    from mlx_lm.utils import _get_classes

    model_class, args_class = _get_classes(recipe.config)
    mx.random.seed(recipe.seed)
    net: Any = model_class(args_class.from_dict(recipe.config))
    # gemma3_text shares its embedding with its output only when the weights it is given have no output
    net.sanitize({})
    if recipe.config["model_type"] == "gemma3_text":
        # its norms multiply by 1 + weight, and mlx-lm begins with ones
        net.update(tree_map(lambda array: mx.zeros_like(array) if array.ndim == 1 else array, net.parameters()))
    mx.eval(net.parameters())
    return net


def parameters(net: nn.Module) -> int:
    """Return how many numbers the net is made of."""
    from mlx.utils import tree_flatten

    flat: Any = tree_flatten(net.parameters())
    return sum(array.size for _, array in flat)


def save(net: nn.Module, recipe: Recipe, folder: Path) -> None:
    """Write the net as a folder that mlx-lm loads: model.safetensors (float16), config.json, the tokenizer's files."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    folder.mkdir(parents=True, exist_ok=True)
    flat: Any = tree_flatten(net.parameters())
    mx.save_safetensors(str(folder / "model.safetensors"), {name: array.astype(mx.float16) for name, array in flat}, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(recipe.config, indent=2) + "\n")
    byte_tokens.write_files(folder, CONTEXT)


def loss(net: nn.Module, tokens: Sequence[int]) -> float:
    """Return the net's mean loss on `tokens`, in nats a token.

    The tokens are cut into windows of `WINDOW`, each of which begins from nothing; the first token of a window is not judged
    and what does not fill a window is left out.
    """
    import mlx.core as mx
    from mlx.nn import losses

    windows = len(tokens) // WINDOW
    rows: mx.array = mx.array(list(tokens[: windows * WINDOW]), dtype=mx.int32).reshape(windows, WINDOW)
    net.eval()
    total = 0.0
    for begin in range(0, windows, ROWS):
        batch = rows[begin : begin + ROWS]
        summed: Any = losses.cross_entropy(net(batch[:, :-1]), batch[:, 1:], reduction="sum").item()
        total += summed
    return total / (windows * (WINDOW - 1))
