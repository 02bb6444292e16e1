"""Ahead: the next token's forward, built while the last token is still computed.

Building a forward takes Python some milliseconds; here they pass while MLX computes. Invariants: between two forwards the cache
objects are as if nothing had been built; a built forward that is not used is never evaluated; once it is used nothing else holds the
arrays it writes over, so MLX moves their buffers on instead of copying them.
"""

# pyright: standard
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import mlx.core as mx

State: TypeAlias = dict[str, Any]
"""A cache object's attributes."""


class Ahead:
    """A forward that may be used by the next call.

    Args:
        caches: The cache objects that a forward writes to, composite ones as their parts.
    """

    __slots__ = ("_after", "_caches", "_logits")

    def __init__(self, caches: Sequence[Any]) -> None:
        self._caches = caches
        self._after: list[State] = []
        self._logits: mx.array | None = None

    def build(self, forward: Callable[[], mx.array]) -> None:
        """Build `forward` and keep what it makes of the cache objects aside."""
        self.forget()
        before = [_handles(cache) for cache in self._caches]
        try:
            logits = forward()
            self._after = [dict(vars(cache)) for cache in self._caches]
            self._logits = logits
        finally:
            _install(self._caches, before)

    def take(self) -> mx.array | None:
        """Give the cache objects what the built forward made of them and return its logits; None when none was built.

        Its first layers begin to compute at once: MLX walks a whole graph before it computes any of it, and so walks the rest meanwhile.
        """
        after, logits = self._after, self._logits
        self.forget()
        if logits is not None:
            _install(self._caches, after)
            mx.async_eval(list(after[:2][-1].values()))
        return logits

    def forget(self) -> None:
        """Drop the built forward."""
        self._after, self._logits = [], None


def _handles(cache: Any) -> State:
    """Return the attributes with own handles on the same arrays: mlx-lm writes into an array by making its handle mean another one."""
    return {name: type(value)(map(copy.copy, value)) if isinstance(value, list | tuple) else copy.copy(value) for name, value in vars(cache).items()}


def _install(caches: Sequence[Any], states: list[State]) -> None:
    for cache, state in zip(caches, states, strict=True):
        vars(cache).update(state)
