"""Shapes of the triggers on the twin, at unit prices: 1 byte a KV token, 10 bytes a recurrent state, 2 bytes a row of its convolution's input."""

from __future__ import annotations

import dataclasses

from kvlab.lab import Twin
from kvlab.shape import LayerGroup, Shape

KV = LayerGroup("kv", (1,), bytes_per_token=1, growth_step=4)
RECURRENT = LayerGroup("recurrent", (0,), state_bytes=10, conv_bytes_per_token=2)
DRAFT = LayerGroup("draft_kv", (2,), bytes_per_token=1, growth_step=4)


def kv() -> Twin:
    """Return a twin with full attention only."""
    return Twin(Shape("kv", (KV,)))


def hybrid() -> Twin:
    """Return a twin with a recurrent layer before one of full attention."""
    return Twin(Shape("recurrent+kv", (RECURRENT, KV)))


def hybrid_with_draft() -> Twin:
    """Return the same with a draft layer that looks one token ahead."""
    return Twin(Shape("recurrent+kv+draft_kv", (RECURRENT, KV, DRAFT), look_ahead=1))


ROUND_STATES = 3
"""States of a speculative round of four tokens: the one that is drafted from, and three drafts."""


def speculative() -> Twin:
    """Return a hybrid with a draft layer whose rounds leave `ROUND_STATES` states in one allocation."""
    rounds = dataclasses.replace(RECURRENT, round_states=ROUND_STATES)
    return Twin(Shape("recurrent+kv+draft_kv", (rounds, KV, DRAFT), look_ahead=1))
