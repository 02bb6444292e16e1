"""Chooses the next token from logits, with mlx-lm's samplers.

Invariant: greedy choice never computes log-probabilities.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvlab.errors import BadValue

if TYPE_CHECKING:
    import mlx.core as mx

    from kvlab.workloads.request import Sampling


def make(sampling: Sampling) -> Callable[[mx.array], mx.array]:
    """Return a function from logits (..., vocabulary) to token ids (...).

    Raises:
        BadValue: a figure of `sampling` is outside its range.
    """
    import mlx.core as mx
    from mlx_lm.sample_utils import make_sampler

    check(sampling)
    if sampling.temperature == 0:
        return lambda logits: mx.argmax(logits, axis=-1)
    choose = make_sampler(temp=sampling.temperature, top_p=sampling.top_p, min_p=sampling.min_p, top_k=sampling.top_k)
    return lambda logits: choose(logits - mx.logsumexp(logits, axis=-1, keepdims=True))


def check(sampling: Sampling) -> None:
    """Raise BadValue when a figure of `sampling` is outside its range."""
    ranges = (
        ("temperature", sampling.temperature, sampling.temperature >= 0, "at least 0 (0 is greedy)"),
        ("top_p", sampling.top_p, 0 < sampling.top_p <= 1, "above 0 and at most 1 (1 keeps all)"),
        ("top_k", sampling.top_k, sampling.top_k >= 0, "at least 0 (0 keeps all)"),
        ("min_p", sampling.min_p, 0 <= sampling.min_p <= 1, "from 0 (keeps all) to 1"),
    )
    for name, value, inside, allowed in ranges:
        if not inside:
            raise BadValue(what=f"a sampling's {name} is {value}", why=f"it must be {allowed}", hint=f"correct {name}")
