"""Builds a tiny net of any mlx-lm architecture from its config, with random float32 weights drawn from one seed."""

# pyright: standard
from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import mlx.core as mx
from mlx import nn
from mlx.utils import tree_flatten, tree_map

SEED = 0

NOISE = 0.1
"""The spread of what is added to weights that begin all alike, such as norms and gates: alike they hide what they weigh."""


MOST_NUMBERS = 8_000_000
"""A net with more numbers is not built: some field of the config did not reach it."""


class BadConfig(Exception):
    """A config that the architecture does not read as meant."""


def build(architecture: str, config: Mapping[str, Any], needed: Iterable[str]) -> nn.Module:
    """Return a net with random weights, evaluated.

    Args:
        architecture: The name of a module of `mlx_lm.models`.
        config: The fields of its `ModelArgs`; those that it does not have are left out.
        needed: Fields of `config` that it must have.

    Raises:
        BadConfig: the architecture lacks a needed field, or the net is not tiny.
    """
    module = importlib.import_module(f"mlx_lm.models.{architecture}")
    unread = sorted(set(needed) - set(inspect.signature(module.ModelArgs).parameters))
    if unread:
        raise BadConfig(f"{architecture} reads no {', '.join(unread)}")
    mx.random.seed(SEED)
    net: nn.Module = module.Model(module.ModelArgs.from_dict(dict(config)))
    if (size := numbers(net)) > MOST_NUMBERS:
        raise BadConfig(f"{size} numbers are no tiny net")
    net.update(tree_map(_drawn, net.parameters()))
    net.eval()
    mx.eval(net.parameters())
    return net


def numbers(net: nn.Module) -> int:
    """Return how many numbers the weights of a net are."""
    return sum(array.size for _, array in tree_flatten(net.parameters()) if isinstance(array, mx.array))


def _drawn(array: Any) -> Any:
    """Return a weight as float32, and packed ones as random bits; a weight whose numbers are all alike gets noise."""
    if not isinstance(array, mx.array):
        return array
    if array.dtype == mx.uint32:
        return mx.random.randint(0, 1 << 31, array.shape).astype(mx.uint32)
    if not mx.issubdtype(array.dtype, mx.floating):
        return array
    array = array.astype(mx.float32)
    if array.size and mx.all(array == array.flatten()[0]).item():
        array = array + NOISE * mx.random.normal(array.shape)
    return array
