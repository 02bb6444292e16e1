"""The active path: the nodes from the root to the frontier, whose state the live buffers hold, and how it takes up new tokens.

Invariants: each node is the parent of the next; the path ends at or before the live offset, and at it between requests, except after a refused
restore: then all layers are freed and the path stays (`switchToPath`, v0.30.7 to main).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from kvlab.events import Event, FrontierMoved
from kvlab.trie import Node


class ActivePath:
    """The active path.

    Attributes:
        nodes: From the root to the frontier.
        freed: A refused restore freed all layers, and the path stays where they were before.
        on_left: Called with each node that the path leaves, or that is no longer its last.
        on_entered: Called with each node that the path enters.
    """

    __slots__ = ("_emit", "freed", "nodes", "on_entered", "on_left")

    def __init__(self, root: Node, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self.on_left: Callable[[Node], None] = _nothing
        self.on_entered: Callable[[Node], None] = _nothing
        self.nodes = [root]
        self.freed = False
        root.active = True

    @property
    def frontier(self) -> Node:
        """The last node."""
        return self.nodes[-1]

    def shared_end(self, other: list[Node]) -> int:
        """Return the end of the last node that this path and `other` have in common."""
        end = 0
        for mine, theirs in zip(self.nodes, other, strict=False):
            if mine is not theirs:
                break
            end = mine.end
        return end

    def switch(self, nodes: list[Node]) -> None:
        """Make `nodes` the active path."""
        kept = set(map(id, nodes))
        for node in self.nodes:
            node.active = False
        gone = [node for node in self.nodes if id(node) not in kept]
        before, self.nodes = self.nodes[-1], nodes
        for node in nodes:
            node.active = True
        for node in gone if before in gone else [*gone, before]:
            self.on_left(node)
        for node in nodes:
            self.on_entered(node)
        self._emit(FrontierMoved(node=nodes[-1].id))

    def extend(self, node: Node) -> None:
        """Move the frontier to `node`, a child of the frontier."""
        before = self.nodes[-1]
        self.nodes.append(node)
        node.active = True
        self.on_left(before)
        self.on_entered(node)
        self._emit(FrontierMoved(node=node.id))

    def forget(self, node: Node) -> None:
        """Take a node that left the trie off the path."""
        place = bisect_left(self.nodes, node.end, key=lambda one: one.end)
        if self.nodes[place] is node:
            del self.nodes[place]


def _nothing(node: Node) -> None:
    del node
