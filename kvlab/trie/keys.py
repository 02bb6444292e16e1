"""Token keys as packed bytes: four bytes a token, so that equal runs are compared by one call and an edge costs four bytes a token."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from kvlab.errors import BadValue

WIDTH = 4
"""Bytes of one key."""


def to_keys(tokens: Iterable[int]) -> bytes:
    """Pack token ids into keys.

    Raises:
        BadValue: an id does not fit 32 bits.
    """
    try:
        return array("i", tokens).tobytes()
    except OverflowError:
        raise BadValue(
            what="a token id does not fit 32 bits",
            why="the trie keeps four bytes a token",
            hint="give token ids below 2**31",
        ) from None


def agreeing(keys: bytes, at: int, edge: bytes, stop: int) -> int:
    """Return how many leading tokens of `edge` equal those of `keys` from token `at`, never reading `keys` past token `stop`."""
    room = min(len(edge) // WIDTH, stop - at)
    ours = np.frombuffer(keys, dtype=np.int32, count=room, offset=at * WIDTH)
    differs = ours != np.frombuffer(edge, dtype=np.int32, count=room)
    first = int(differs.argmax()) if room else 0
    return first if room and differs[first] else room
