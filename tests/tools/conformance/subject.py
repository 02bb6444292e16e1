"""A tiny net with the tokens of its checks, and the runs that answers are compared with."""

# pyright: standard
from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any, cast

import mlx.core as mx
from mlx import nn
from mlx_lm.models.cache import make_prompt_cache

from kvlab.models.shape_of import shape_of
from kvlab.shape import Shape
from tests.tools.conformance import CHUNK, PREFIX, TOTAL, snapshots


class Differs(Exception):
    """Two runs that should give the same logits do not."""


class Subject:
    """A net and two sequences of tokens; each has a prefix and a rest.

    Attributes:
        net: The net.
        prefix: The prefix that most checks start from.
        other_prefix: Another prefix as long.
        rest: What follows.
        other_rest: Something else that might follow.
    """

    def __init__(self, net: nn.Module, name: str, vocabulary: int) -> None:
        self.net = net
        self._name = name
        tokens = [(7 * place * place + 3 * place + 1) % vocabulary for place in range(TOTAL)]
        other = [(5 * place * place + place + 2) % vocabulary for place in range(TOTAL)]
        self.prefix, self.rest = tokens[:PREFIX], tokens[PREFIX:]
        self.other_prefix, self.other_rest = other[:PREFIX], other[PREFIX:]
        self._runs: dict[tuple[Any, ...], mx.array] = {}

    @functools.cached_property
    def shape(self) -> Shape:
        """The net's layers as kvlab groups them.

        Raises:
            NotAvailable: kvlab keeps no layer of one of their kinds.
        """
        return shape_of(self.net, self.fresh(), self._name, 0)

    def fresh(self) -> list[Any]:
        """Return empty caches."""
        return make_prompt_cache(self.net)

    def forward(self, caches: list[Any], tokens: Sequence[int], step: int = TOTAL) -> mx.array:
        """Run `tokens` in pieces of at most `step`; return their logits as [tokens, vocabulary], evaluated."""
        pieces: list[mx.array] = []
        for start in range(0, len(tokens), step):
            logits: mx.array = self.net(mx.array([tokens[start : start + step]]), cache=caches)
            mx.eval(logits, snapshots.live_arrays(caches))
            pieces.append(logits[0])
        return mx.concatenate(pieces)

    def after(self, tokens: Sequence[int], step: int = CHUNK) -> list[Any]:
        """Return caches that have seen `tokens`, in pieces of `step`."""
        caches = self.fresh()
        if tokens:
            self.forward(caches, tokens, step)
        return caches

    def straight(self, prefix: Sequence[int], rest: Sequence[int], step: int = CHUNK, rest_step: int = TOTAL) -> mx.array:
        """Return the logits of `rest` after `prefix`, each in its pieces and nothing in between. Runs once a question."""
        key = (tuple(prefix), tuple(rest), step, rest_step)
        if key not in self._runs:
            self._runs[key] = self.forward(self.after(prefix, step), rest, rest_step)
        return self._runs[key]


def duplicate(caches: list[Any]) -> list[Any]:
    """Return caches with the same contents; writing into either leaves the other alone."""
    return copy.deepcopy(caches)


def share(ours: mx.array, theirs: mx.array) -> float:
    """Return the largest difference as a share of the largest logit of `theirs`; logits that both rule out (minus infinity) are equal."""
    difference = mx.where(ours == theirs, 0.0, mx.abs(ours - theirs))
    return cast("float", mx.max(difference).item()) / largest(theirs)


def largest(logits: mx.array) -> float:
    """Return the largest size of a finite logit."""
    return cast("float", mx.max(mx.where(mx.isfinite(logits), mx.abs(logits), 0.0)).item())


def must_equal(ours: mx.array, theirs: mx.array, when: str) -> None:
    """Compare bit for bit.

    Raises:
        Differs: they are not equal; `when` says where.
    """
    if not mx.array_equal(ours, theirs).item():
        raise Differs(f"{when} differs by {share(ours, theirs):.0e} of the largest logit")
