"""Token keys as packed bytes, so that equal runs are compared by one call: four bytes a token, or eight for a pair of neighbours.

With a look-ahead of 1 (a draft layer reads the next token too) the key of a position is the pair (its token, the next one), and
the last token has no key yet: a prompt then agrees with the trie on one position less than on tokens.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from struct import Struct

import numpy as np
from numpy import ndarray

from kvlab.errors import BadValue

WIDTH = 4
"""Bytes of one key without look-ahead."""

_KINDS = {WIDTH: np.dtype(np.int32), 2 * WIDTH: np.dtype(np.int64)}
READ = {WIDTH: Struct("=i").unpack_from, 2 * WIDTH: Struct("=q").unpack_from}
"""Reads the key at a byte offset, by width; `key_at` is the same with a call more."""


# Keys compared first, next, and then at once: a long edge that differs early is not read to its end, and what was just compared as bytes
# is looked at again while the processor still holds it.
_SOON, _NEXT, _WINDOW = 512, 8192, 16384


def width_of(look_ahead: int) -> int:
    """Return the bytes of one key: four for the token and four for each token of its look-ahead.

    Raises:
        BadValue: `look_ahead` is neither 0 nor 1.
    """
    if look_ahead not in (0, 1):
        raise BadValue(what=f"a look-ahead of {look_ahead} has no keys", why="a key holds one token, or a token and the next", hint="use 0 or 1")
    return WIDTH * (1 + look_ahead)


def to_keys(tokens: Iterable[int], look_ahead: int = 0) -> bytes:
    """Pack token ids into keys: N tokens give N keys, with a look-ahead of 1 one less (none for none).

    Raises:
        BadValue: an id does not fit 32 bits, or `look_ahead` is neither 0 nor 1.
    """
    width = width_of(look_ahead)
    try:
        packed = array("i", tokens)
    except OverflowError:
        raise BadValue(
            what="a token id does not fit 32 bits",
            why="the trie keeps four bytes a token",
            hint="give token ids below 2**31",
        ) from None
    if width == WIDTH:
        return packed.tobytes()
    alone = np.frombuffer(packed, dtype=np.int32) if packed else np.empty(0, dtype=np.int32)
    return np.stack((alone[:-1], alone[1:]), axis=1).tobytes()


def key_at(keys: bytes, at: int, width: int = WIDTH) -> int:
    """Return key `at`, as a number."""
    return READ[width](keys, at * width)[0]


def agreeing(keys: bytes, at: int, edge: bytes, stop: int, width: int = WIDTH) -> int:
    """Return how many leading keys of `edge` equal those of `keys` from key `at`, never reading `keys` past key `stop`."""
    room, offset = min(len(edge) // width, stop - at), at * width
    # most that differ do so soon, and comparing bytes is the cheaper look
    if room > _SOON and not keys.startswith(memoryview(edge)[: _SOON * width], offset):
        room = _SOON
    kind, low, most = _KINDS[width], 0, _NEXT
    while low < room:
        size = min(most, room - low)
        differs = ndarray(size, kind, keys, offset + low * width) != ndarray(size, kind, edge, low * width)
        first = int(differs.argmax())
        if differs[first]:
            return low + first
        low, most = low + size, _WINDOW
    return room
