"""Loaded: a net with its tokenizer, before a prefix cache is put around it."""

# pyright: standard
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlx import nn

    from kvlab.models.tokens import WrappedTokenizer


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a reader returns.

    Attributes:
        net: Any mlx-lm net, its weights evaluated.
        tokenizer: Its tokenizer; `tokenizer.wrapper` is what mlx-lm's own functions take.
        context: Tokens the model can hold; 0 when unknown.
        origin: Where it came from, for a recording's manifest.
    """

    net: nn.Module
    tokenizer: WrappedTokenizer
    context: int
    origin: dict[str, str] = field(default_factory=dict)
