"""Continues a prompt with a loaded net: what a card shows as samples."""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvlab.models.loaded import Loaded

TEMPERATURE = 0.7


def greedily(loaded: Loaded, prompt: Sequence[int], length: int) -> str:
    """Return up to `length` tokens of the likeliest continuation, as text."""
    return _continued(loaded, prompt, length, temperature=0.0)


def by_chance(loaded: Loaded, prompt: Sequence[int], length: int, seed: int) -> str:
    """Return up to `length` tokens drawn at `TEMPERATURE` from `seed`, as text."""
    import mlx.core as mx

    mx.random.seed(seed)
    return _continued(loaded, prompt, length, temperature=TEMPERATURE)


def _continued(loaded: Loaded, prompt: Sequence[int], length: int, temperature: float) -> str:
    import mlx.core as mx
    from mlx_lm.generate import generate_step
    from mlx_lm.sample_utils import make_sampler

    decoder = loaded.tokenizer.decoder()
    text = ""
    for token, _ in generate_step(mx.array(list(prompt)), loaded.net, max_tokens=length, sampler=make_sampler(temp=temperature)):
        if int(token) in loaded.tokenizer.stop_tokens:
            break
        text += decoder.add(int(token))
    return text + decoder.finish()
