"""Reuse: why a request's `cached` is what it is, in the words of `kvlab.events.REASONS`, and the ghosts of evicted branches that it needs."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from kvlab.trie import Node

GHOST_TOKENS = 8
"""Tokens of an evicted edge that a prompt must share for its reason to be `evicted`."""

MOST_GHOSTS = 10_000


class Hit(NamedTuple):
    """What a prompt found.

    Attributes:
        matched: Tokens that agree with the trie.
        cached: Tokens that were restored.
        reusable: Tokens that can be restored at most: all but the one held back for the decode; all of a prompt that is scored.
        reason: Why `cached` is what it is (`kvlab.events.REASONS`).
    """

    matched: int
    cached: int
    reusable: int
    reason: str


def reason_for(matched: int, cached: int, reusable: int, limiting: str, *, gone: bool) -> tuple[str, str]:
    """Return the reason, and the kind of layer that limited the restore ("" when none did): `limiting` is the one that refused or lacked a state.

    `gone` says that the prompt would have gone on into a branch that was evicted.
    """
    if cached < min(matched, reusable):
        return "reuse_limited_by_restore_point", limiting
    if gone:
        return "evicted", ""
    return ("reused_in_full" if matched else "nothing_shared"), ""


class Ghosts:
    """Remembers which branches were evicted.

    A ghost is how many keys lead from the root to a few tokens into the evicted edge, and their CRC-32. A node knows the CRC of the keys that
    lead to it (`Node.stem`), so neither adding a ghost nor a lookup reads a whole path. Of ten thousand ghosts of one length, one in 400,000
    prompts is taken for another. Invariant: at most `MOST_GHOSTS` are kept, newest last.
    """

    __slots__ = ("_seen", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._seen: dict[tuple[int, int], None] = {}

    def remember(self, leaf: Node) -> None:
        """Record a leaf that is about to be evicted."""
        kept = min(GHOST_TOKENS, leaf.tokens)
        self._seen[leaf.start + kept, crc32(leaf.edge[: kept * self._width], leaf.stem)] = None
        if len(self._seen) > MOST_GHOSTS:
            del self._seen[next(iter(self._seen))]

    def knows(self, keys: bytes, matched: int, last: Node) -> bool:
        """Whether a prompt that agrees with the trie for `matched` tokens, up to within the edge of `last`, would have gone on into an evicted branch."""
        if not self._seen:
            return False
        width = self._width
        seen = crc32(keys[last.start * width : matched * width], last.stem)
        # An evicted edge may be shorter than GHOST_TOKENS.
        for end in range(matched + 1, min(matched + GHOST_TOKENS, len(keys) // width) + 1):
            seen = crc32(keys[(end - 1) * width : end * width], seen)
            if (end, seen) in self._seen:
                return True
        return False
