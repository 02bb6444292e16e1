"""The active path: the nodes from the root to the frontier, whose state the live buffers hold, and how it takes up new tokens.

Invariants: each node is the parent of the next; the path ends at or before the live offset, and at it between requests, except after a refused
restore: then all layers are freed and the path stays (`switchToPath`, v0.30.7 to main).

By the choice `growth`: under `child_nodes` a new child carries exactly its own captures, and the path stays short by merging; under `in_place`
(older releases) a leaf that is no explicit restore point drops its snapshots and grows under what is captured next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvlab.events import Event, FrontierMoved
from kvlab.trie import Node

if TYPE_CHECKING:
    from kvlab.cache.prefix import PrefixCache


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


def _by_child(cache: PrefixCache, node: Node, edge: bytes) -> Node:
    child = cache.trie.append(node, edge)
    child.snapshots = cache.paging.no_snapshots()
    cache.path.extend(child)
    return child


def _in_place(cache: PrefixCache, node: Node, edge: bytes) -> Node:
    if node.children or node.parent is None:
        return _by_child(cache, node, edge)
    if not node.user:
        cache.paging.close_all(node)
    if any(node.snapshots):
        return _by_child(cache, node, edge)
    cache.trie.extend(node, edge)
    return node


def _merge_before_frontier(cache: PrefixCache) -> None:
    nodes = cache.path.nodes
    if len(nodes) > 2 and not nodes[-2].user and len(nodes[-2].children) == 1:
        cache.merge(nodes[-1])


def _keep(cache: PrefixCache) -> None:
    del cache


GROW: dict[str, Callable[[PrefixCache, Node, bytes], Node]] = {"child_nodes": _by_child, "in_place": _in_place}
"""By name of the choice `growth`: takes up new keys below the frontier and returns the new frontier."""

COMPACT: dict[str, Callable[[PrefixCache], None]] = {"child_nodes": _merge_before_frontier, "in_place": _keep}
"""By name of the choice `growth`: shortens the path after it grew."""
