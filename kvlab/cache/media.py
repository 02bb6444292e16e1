"""Media items in a prompt: their keys, and where they may not be cut.

Every position of an item has the item's fold value instead of its token as key; a fold has its top bit set, so it equals no token id.
Under `media=whole_items` a capture inside an item lands at its end, a match inside resumes at its start, and no chunk ends within.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.workloads.request import MediaItem

_FNV_BASIS = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_64_BITS = 2**64 - 1
_32_BITS = 2**32 - 1
_TOP_BIT = 2**31


def media_fold(raw: bytes, dims: Sequence[int]) -> int:
    """Return the fold of an item: 64-bit FNV-1a over its raw bytes and its sizes after preprocessing, halves joined by xor, the top bit set.

    Args:
        raw: The item's bytes as they came in.
        dims: Its sizes after preprocessing, each hashed as 8 little-endian bytes.
    """
    seen = _FNV_BASIS
    for byte in raw + b"".join(dim.to_bytes(8, "little") for dim in dims):
        seen = ((seen ^ byte) * _FNV_PRIME) & _64_BITS
    return (seen >> 32) ^ (seen & _32_BITS) | _TOP_BIT


def folded(tokens: Sequence[int], items: Sequence[MediaItem]) -> Sequence[int]:
    """Return the prompt's tokens with every item's positions replaced by its fold value; the tokens themselves when there is no item."""
    if not items:
        return tokens
    found = list(tokens)
    for item in items:
        found[item.start : item.end] = [item.fold - 2**32] * (item.end - item.start)
    return found


def before(items: Sequence[MediaItem], offset: int) -> int:
    """Return `offset`, or the start of the whole item around it."""
    return next((item.start for item in items if item.cuts(offset)), offset)


def after(items: Sequence[MediaItem], offset: int) -> int:
    """Return `offset`, or the end of the whole item around it."""
    return next((item.end for item in items if item.cuts(offset)), offset)


def clear_edge(items: Sequence[MediaItem], at: int, edge: int, last: int) -> int:
    """Return where a chunk [at, edge) ends instead: before a whole item that begins inside it, else at its end, never past `last`."""
    for item in items:
        if item.cuts(edge):
            return min(item.start if item.start > at else item.end, last)
    return edge
