"""Draft layers that a config names and mlx-lm does not build: a server that drafts tokens keeps a full-attention layer more for each."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.models.config.source import Config
from kvlab.shape import LayerGroup

DRAFT_FIELDS = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers", "mtp_num_layers")
"""How configs call their number of draft (multi-token prediction) layers."""


def draft_layers(config: Config) -> tuple[str, int]:
    """Return the field that names draft layers and their number; ("", 0) when none does."""
    for field in DRAFT_FIELDS:
        number = config.text.get(field)
        if isinstance(number, int) and number > 0:
            return field, number
    return "", 0


def draft_group(groups: Sequence[LayerGroup], number: int, first: int) -> LayerGroup | None:
    """Return `number` draft layers, each at the price of the last layer of full attention; None when there is none to go by.

    Args:
        groups: The model's own layers.
        number: Draft layers.
        first: The index that the first of them gets.
    """
    attention = [group for group in groups if group.kind == "kv"]
    if not attention:
        return None
    last = max(layer for group in attention for layer in group.layers)
    # a composite layer has several parts with a slot a token
    price = sum(group.bytes_per_token // len(group.layers) * group.layers.count(last) for group in attention)
    step = next(group.growth_step for group in attention if last in group.layers)
    return LayerGroup(kind="draft_kv", layers=tuple(range(first, first + number)), bytes_per_token=price * number, growth_step=step)
