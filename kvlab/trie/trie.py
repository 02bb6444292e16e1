"""Trie: match, split, merge, append, remove. It knows nothing of layers; what nodes carry is the cache's business.

Invariants (checked by `kvlab.cache.check`): a child starts where its parent ends; parents and children point at each other;
no two siblings share a first key. Matching stays right in a damaged trie whose siblings do: a whole edge wins over a longer
partial one, among equals the longer (upstream scenarios 19 and 20).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvlab.events import Event, NodeBorn, NodeMerged, NodeRemoved, NodeSplit
from kvlab.trie.keys import WIDTH, agreeing, first_key
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
        stop = len(keys) // self.width if stop is None else stop
        node, at, path = self.root, 0, [self.root]
        while at < stop and (found := descend(node, keys, at, stop, self.width)) is not None:
            node, agreed = found
            path.append(node)
            at += agreed
            if at < node.end:
                break
        return Match(path, at)

    def append(self, parent: Node, edge: bytes) -> Node:
        """Add a leaf below `parent` whose first key no child of `parent` has, and return it."""
        node = Node(self._next, parent, edge, parent.end + len(edge) // self.width)
        self._next += 1
        self.nodes += 1
        parent.children[first_key(edge, self.width)] = node
        self._emit(NodeBorn(node=node.id, parent=parent.id, start=parent.end, end=node.end))
        return node

    def split(self, node: Node, at: int) -> Node:
        """Cut `node` at token offset `at`; return the new head. `node` keeps its end, its children, its user flag and what it carries."""
        parent = _parent(node)
        cut = (at - node.start) * self.width
        head = Node(self._next, parent, node.edge[:cut], at)
        self._next += 1
        self.nodes += 1
        head.used = node.used
        _replace(parent, node, head, self.width)
        node.start = at
        node.edge = node.edge[cut:]
        node.parent = head
        head.children[first_key(node.edge, self.width)] = node
        self._emit(NodeSplit(node=node.id, head=head.id, start=head.start, end=at))
        return head

    def merge(self, node: Node) -> Node:
        """Let `node` take over its parent's edge; return the parent, which has left the trie. `node` must be its only child."""
        head = _parent(node)
        above = _parent(head)
        _replace(above, head, node, self.width)
        node.start = head.start
        node.edge = head.edge + node.edge
        node.parent = above
        node.used = max(node.used, head.used)
        head.parent = None
        head.children = {}
        self.nodes -= 1
        self._emit(NodeMerged(node=node.id, head=head.id, start=node.start, end=node.end))
        return head

    def remove(self, leaf: Node) -> Node:
        """Take a leaf out of the trie; return its former parent."""
        parent = _parent(leaf)
        if leaf.children:
            msg = f"{leaf!r} has children"
            raise ValueError(msg)
        _unlink(parent, leaf, self.width)
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
                waiting.extend(_chain(child))


def descend(node: Node, keys: bytes, at: int, stop: int, width: int = WIDTH) -> tuple[Node, int] | None:
    """Return the child of `node` that agrees with `keys` from token `at`, and for how many tokens; None if none does."""
    child = node.children.get(int.from_bytes(keys[at * width : at * width + width], "little", signed=True))
    if child is None:
        return None
    if child.sibling is None:
        return child, _agreed(child, keys, at, stop, width)
    found = [(agreed := _agreed(one, keys, at, stop, width), agreed == one.tokens, one) for one in _chain(child)]
    agreed, _, best = max(found, key=lambda one: (one[1], one[0]))
    return best, agreed


def _agreed(child: Node, keys: bytes, at: int, stop: int, width: int) -> int:
    if child.end <= stop and keys.startswith(child.edge, at * width):
        return child.tokens
    return agreeing(keys, at, child.edge, stop, width)


def _chain(child: Node | None) -> Iterator[Node]:
    while child is not None:
        yield child
        child = child.sibling


def _parent(node: Node) -> Node:
    if node.parent is None:
        msg = f"{node!r} has no parent"
        raise ValueError(msg)
    return node.parent


def _replace(parent: Node, old: Node, new: Node, width: int) -> None:
    # Both share the first key, so the entry is overwritten in place and the order of children stays.
    key = first_key(old.edge, width)
    new.sibling, old.sibling = old.sibling, None
    if parent.children[key] is old:
        parent.children[key] = new
        return
    before = next(one for one in _chain(parent.children[key]) if one.sibling is old)
    before.sibling = new


def _unlink(parent: Node, leaf: Node, width: int) -> None:
    key = first_key(leaf.edge, width)
    if parent.children[key] is not leaf:
        before = next(one for one in _chain(parent.children[key]) if one.sibling is leaf)
        before.sibling = leaf.sibling
    elif leaf.sibling is not None:
        parent.children[key] = leaf.sibling
    else:
        del parent.children[key]
    leaf.sibling = None
