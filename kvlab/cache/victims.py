"""Victims: which node eviction takes next, without a walk over the trie.

A heap of nodes that may be evicted, least recently used first; ties go to the deepest end, then to the most counted bytes.
Invariant: a node is pushed whenever it becomes a candidate or its key goes down (its bytes grew); a key that went up since
(the node was used) is put back when it comes up. So the smallest valid entry is always the right victim.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from kvlab.trie import Node


class Victims:
    """The queue of nodes that may be evicted."""

    __slots__ = ("_heap", "_protected")

    def __init__(self, protected: Callable[[Node], bool]) -> None:
        self._protected = protected
        self._heap: list[tuple[tuple[int, int, int], int, Node]] = []

    def push(self, node: Node) -> None:
        """Note that `node` may have become a candidate, or that its bytes grew."""
        key = (node.used, -node.end, -node.counted)
        if node.queued is None or key < node.queued:
            node.queued = key
            heapq.heappush(self._heap, (key, node.id, node))

    def pop(self) -> Node | None:
        """Return the next victim and take it out of the queue; None when no node may be evicted."""
        while self._heap:
            key, _, node = heapq.heappop(self._heap)
            if node.queued != key:
                continue
            node.queued = None
            if node.parent is None or self._protected(node):
                continue
            if key < (node.used, -node.end, -node.counted):
                self.push(node)
                continue
            return node
        return None
