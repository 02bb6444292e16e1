"""Trie: match, split, merge, append, remove. It knows nothing of layers; what nodes carry is the cache's business.

Invariants (checked by `kvlab.cache.check`): a child starts where its parent ends; parents and children point at each other;
no two siblings share a first key. Matching stays right in a damaged trie whose siblings do: a whole edge wins over a longer
partial one, among equals the longer (upstream scenarios 19 and 20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from zlib import crc32

from kvlab.events import Event, NodeBorn, NodeMerged, NodeRemoved, NodeSplit
from kvlab.trie.children import below, chain, hang, replace, take_off
from kvlab.trie.keys import READ, WIDTH, agreeing
from kvlab.trie.node import Node


class Match(NamedTuple):
    """How far keys agree with the trie: the nodes walked from the root (the last one perhaps only partway) and the tokens matched."""

    path: list[Node]
    matched: int


class Trie:
    """A compressed trie of token keys.

    Attributes:
        root: Node 0, with an empty edge.
        nodes: How many nodes it has, the root included.
        width: Bytes of one key.
    """

    __slots__ = ("_emit", "_next", "nodes", "root", "width")

    def __init__(self, emit: Callable[[Event], None], width: int = WIDTH) -> None:
        self._emit = emit
        self.width = width
        self._next = 1
        self.nodes = 1
        self.root = Node(0, None, b"", 0)
        emit(NodeBorn(node=0))

    def match(self, keys: bytes, stop: int | None = None) -> Match:
        """Walk the trie along `keys` (up to token `stop`) as far as they agree."""
        # written out rather than with `descend`: the calls would cost more than the comparisons
        width, begins, read = self.width, keys.startswith, READ[self.width]
        if stop is None:
            stop = len(keys) // width
        node, at, path = self.root, 0, [self.root]
        while at < stop:
            child = node.only if node.several is None else node.several.get(read(keys, at * width)[0])
            if child is None:
                break
            if child.sibling is not None:
                child, agreed = _best_of(child, keys, at, stop, width)
                at += agreed
            elif child.end <= stop and begins(child.edge, at * width):
                at = child.end
            else:
                at += agreeing(keys, at, child.edge, stop, width)
            if at > node.end:
                path.append(child)
            if at < child.end:
                break
            node = child
        # the class's own constructor takes as long as a comparison
        return tuple.__new__(Match, (path, at))  # pyright: ignore[reportUnknownMemberType]  its item types are unknown there

    def append(self, parent: Node, edge: bytes) -> Node:
        """Add a leaf below `parent` whose first key no child of `parent` has, and return it."""
        node = Node(self._next, parent, edge, parent.end + len(edge) // self.width)
        self._next += 1
        self.nodes += 1
        hang(parent, node, self.width)
        self._emit(NodeBorn(node=node.id, parent=parent.id, start=parent.end, end=node.end))
        return node

    def extend(self, leaf: Node, edge: bytes) -> None:
        """Let a leaf grow in place by the keys of `edge`."""
        leaf.edge += edge
        leaf.end += len(edge) // self.width
        parent = _parent(leaf)
        self._emit(NodeBorn(node=leaf.id, parent=parent.id, start=leaf.start, end=leaf.end, user=leaf.user))

    def split(self, node: Node, at: int) -> Node:
        """Cut `node` at token offset `at`; return the new head. `node` keeps its end, its children, its user flag and what it carries."""
        parent = _parent(node)
        cut = (at - node.start) * self.width
        head = Node(self._next, parent, node.edge[:cut], at)
        self._next += 1
        self.nodes += 1
        head.used = node.used
        head.uses = node.uses
        replace(parent, node, head, self.width)
        node.start = at
        node.stem = crc32(head.edge, head.stem)
        node.edge = node.edge[cut:]
        node.parent = head
        head.only = node
        self._emit(NodeSplit(node=node.id, head=head.id, start=head.start, end=at))
        return head

    def merge(self, node: Node) -> Node:
        """Let `node` take over its parent's edge; return the parent, which has left the trie.

        Raises:
            ValueError: its parent is the root or has other children.
        """
        head = _parent(node)
        above = _parent(head)
        if head.only is not node or node.sibling is not None:
            msg = f"{head!r} has other children"
            raise ValueError(msg)
        replace(above, head, node, self.width)
        node.start, node.stem = head.start, head.stem
        node.edge = head.edge + node.edge
        node.parent = above
        node.used = max(node.used, head.used)
        node.uses = max(node.uses, head.uses)
        # whoever still holds the head (the eviction queue may) does not hold its keys
        head.parent, head.only, head.edge = None, None, b""
        self.nodes -= 1
        self._emit(NodeMerged(node=node.id, head=head.id, start=node.start, end=node.end))
        return head

    def remove(self, leaf: Node) -> Node:
        """Take a leaf out of the trie; return its former parent."""
        parent = _parent(leaf)
        if leaf.children:
            msg = f"{leaf!r} has children"
            raise ValueError(msg)
        take_off(parent, leaf, self.width)
        leaf.parent = None
        self.nodes -= 1
        self._emit(NodeRemoved(node=leaf.id))
        return parent

    def walk(self) -> Iterator[Node]:
        """Yield every node, parents before children. For checks and drawings, never on a request's way."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            for child in node.children.values():
                waiting.extend(chain(child))


def descend(node: Node, keys: bytes, at: int, stop: int, width: int = WIDTH) -> tuple[Node, int] | None:
    """Return the child of `node` that agrees with `keys` from token `at`, and for how many tokens; None if none does."""
    child = below(node, keys, at, width)
    if child is None:
        return None
    if child.sibling is not None:
        child, agreed = _best_of(child, keys, at, stop, width)
    elif child.end <= stop and keys.startswith(child.edge, at * width):
        return child, child.tokens
    else:
        agreed = agreeing(keys, at, child.edge, stop, width)
    return (child, agreed) if agreed else None


def _best_of(child: Node, keys: bytes, at: int, stop: int, width: int) -> tuple[Node, int]:
    found = [(agreed := agreeing(keys, at, one.edge, stop, width), agreed == one.tokens, one) for one in chain(child)]
    agreed, _, best = max(found, key=lambda one: (one[1], one[0]))
    return best, agreed


def _parent(node: Node) -> Node:
    if node.parent is None:
        msg = f"{node!r} has no parent"
        raise ValueError(msg)
    return node.parent
