"""Shapes of the triggers on the twin, at unit prices: 1 byte a KV token, 10 bytes a recurrent state, 2 bytes a row of its convolution's input."""

from __future__ import annotations

from kvlab.lab import Twin
from kvlab.shape import LayerGroup, Shape

STATE_BYTES = 10
CONV_BYTES_PER_TOKEN = 2

_KV = LayerGroup("kv", (1,), bytes_per_token=1, growth_step=4)
_RECURRENT = LayerGroup("recurrent", (0,), state_bytes=STATE_BYTES, conv_bytes_per_token=CONV_BYTES_PER_TOKEN)
_DRAFT = LayerGroup("draft_kv", (2,), bytes_per_token=1, growth_step=4)


def kv() -> Twin:
    """Return a twin with full attention only."""
    return Twin(Shape("kv", (_KV,)))


def hybrid() -> Twin:
    """Return a twin with a recurrent layer before one of full attention."""
    return Twin(Shape("recurrent+kv", (_RECURRENT, _KV)))


def hybrid_with_draft() -> Twin:
    """Return the same with a draft layer that looks one token ahead."""
    return Twin(Shape("recurrent+kv+draft_kv", (_RECURRENT, _KV, _DRAFT), look_ahead=1))
