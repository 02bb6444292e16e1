"""Ghosts: which branches were evicted, so that a prompt that would have used one can be told so.

A ghost is the hash of a branch's keys from the root to a few tokens into the edge that went. Invariant: at most `MOST` are kept, newest last.
"""

from __future__ import annotations

from kvlab.trie import Node

TOKENS = 8
"""Tokens of an evicted edge that a prompt must share to be told that eviction took it."""

MOST = 10_000


class Ghosts:
    """Remembers evicted branches by hash."""

    __slots__ = ("_seen", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._seen: dict[int, None] = {}

    def remember(self, leaf: Node) -> None:
        """Note a leaf that is about to be evicted."""
        self._seen[hash(_keys_to(leaf)[: (leaf.start + TOKENS) * self._width])] = None
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]

    def knows(self, keys: bytes, matched: int) -> bool:
        """Whether a prompt that agrees with the trie for `matched` tokens would have gone on into an evicted branch."""
        # An evicted edge may be shorter than TOKENS.
        room = min(TOKENS, len(keys) // self._width - matched)
        return bool(self._seen) and any(hash(keys[: (matched + ahead) * self._width]) in self._seen for ahead in range(room, 0, -1))


def _keys_to(node: Node) -> bytes:
    edges: list[bytes] = []
    above: Node | None = node
    while above is not None:
        edges.append(above.edge)
        above = above.parent
    return b"".join(reversed(edges))
