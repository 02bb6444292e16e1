"""Nodes of a dump as a tree, and which of them are the same from one dump to the next.

No node knows the one above it. No recursion: a hostile dump may be as deep as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvlab.importers.dump_lines import Row

MOST_STEPS = 1_000
"""Nodes that are looked at when a split is sought."""


class Dumped:
    """A node as a dump lists it.

    Attributes:
        start: Where its edge begins.
        end: Where it ends.
        size: What its snapshots count, in bytes.
        user: An explicit restore point.
        snap: All layers have a snapshot.
        active: It is on the active path.
        children: The nodes below.
        node: Its number; -1 before it has one.
        snapshot: The number of its snapshot; -1 for none.
    """

    __slots__ = ("active", "children", "end", "node", "size", "snap", "snapshot", "start", "user")

    def __init__(self, row: Row) -> None:
        _, self.start, self.end, self.size, self.user, self.snap, self.active = row
        self.children: list[Dumped] = []
        self.node = -1
        self.snapshot = -1


class Names:
    """Numbers of nodes and snapshots that no trie of one import shares."""

    __slots__ = ("node", "snapshot")

    def __init__(self) -> None:
        self.node = -1
        self.snapshot = 0

    def next_node(self, wanted: int = -1) -> int:
        """Return a node's number that was not used before: the one that is wanted, if it is above all of them."""
        self.node = max(self.node + 1, wanted)
        return self.node

    def next_snapshot(self, wanted: int = -1) -> int:
        """Return a snapshot's number that was not used before: the one that is wanted, if it is above all of them."""
        self.snapshot = max(self.snapshot + 1, wanted)
        return self.snapshot


def planted(rows: Sequence[Row], depth: int) -> tuple[list[Dumped], list[Dumped]]:
    """Return rows as nodes, in their order, and those of them at `depth`, which all the others are below."""
    nodes: list[Dumped] = []
    tops: list[Dumped] = []
    path: list[Dumped] = []
    for row in rows:
        node = Dumped(row)
        del path[row[0] - depth :]
        (path[-1].children if path else tops).append(node)
        path.append(node)
        nodes.append(node)
    return nodes, tops


def walk(top: Dumped) -> Iterator[Dumped]:
    """Yield `top` and all nodes below it, parents first, children in their order."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def pair(old: Sequence[Dumped], new: Sequence[Dumped]) -> tuple[list[tuple[Dumped, Dumped]], list[Dumped], list[Dumped]]:
    """Return children with equal edges in pairs, in their order, and those without a partner."""
    if len(old) == len(new) and all(a.end == b.end and a.start == b.start for a, b in zip(old, new, strict=True)):
        return list(zip(old, new, strict=True)), [], []
    by_edge: dict[tuple[int, int], list[Dumped]] = {}
    for node in reversed(old):
        by_edge.setdefault((node.start, node.end), []).append(node)
    pairs: list[tuple[Dumped, Dumped]] = []
    came: list[Dumped] = []
    taken: set[int] = set()
    for node in new:
        same = by_edge.get((node.start, node.end))
        if same:
            before = same.pop()
            taken.add(id(before))
            pairs.append((before, node))
        else:
            came.append(node)
    return pairs, [node for node in old if id(node) not in taken], came


def leads_to(node: Dumped, end: int) -> bool:
    """Return whether a node that ends at `end` is reached from `node` going down."""
    waiting = [node]
    for _ in range(MOST_STEPS):
        if not waiting:
            break
        at = waiting.pop()
        if at.end == end:
            return True
        if at.end < end:
            waiting += at.children
    return False
