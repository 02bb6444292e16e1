"""Ghosts: which branches were evicted, so that a prompt that would have used one can be told so.

A ghost is how many keys lead from the root to a few tokens into the edge that went, and their CRC-32. A node knows the CRC of what leads to
it (`Node.stem`), so neither remembering nor asking looks at a whole path. Invariant: at most `MOST` are kept, newest last.
"""

from __future__ import annotations

from zlib import crc32

from kvlab.trie import Node

TOKENS = 8
"""Tokens of an evicted edge that a prompt must share to be told that eviction took it."""

MOST = 10_000


class Ghosts:
    """Remembers evicted branches by length and CRC: of ten thousand of one length, one in 400,000 prompts is taken for another."""

    __slots__ = ("_seen", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._seen: dict[tuple[int, int], None] = {}

    def remember(self, leaf: Node) -> None:
        """Note a leaf that is about to be evicted."""
        kept = min(TOKENS, leaf.tokens)
        self._seen[leaf.start + kept, crc32(leaf.edge[: kept * self._width], leaf.stem)] = None
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]

    def knows(self, keys: bytes, matched: int, last: Node) -> bool:
        """Whether a prompt that agrees with the trie for `matched` tokens, up to within the edge of `last`, would have gone on into an evicted branch."""
        if not self._seen:
            return False
        width = self._width
        seen = crc32(keys[last.start * width : matched * width], last.stem)
        # An evicted edge may be shorter than TOKENS.
        for end in range(matched + 1, min(matched + TOKENS, len(keys) // width) + 1):
            seen = crc32(keys[(end - 1) * width : end * width], seen)
            if (end, seen) in self._seen:
                return True
        return False
