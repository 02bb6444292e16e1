"""Dumps of a trie, as a log prints them, and what changed from one to the next: nodes and spans with intervals of existence.

A dump lists nodes in depth-first order, each with its edge [start, end), the bytes its snapshots count, and flags. It gives no names, so a node of
the next dump is the same one if it hangs on the same node with the same edge. A new node that takes the beginning of an old edge, with
the rest below it, is a split; an old node whose edge became the beginning of its only child's is a merge; a leaf that grew under a request that matched all
of it is a new child merged with it at once, as upstream main grows. Everything else died or was born. The edges of every moment are right whatever the names.

Invariants: no recursion, a hostile dump may be as deep as it likes; at most `MOST_NODES` nodes are held; node 0 is the first trie's root.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvlab.importers.rows import Rows

MOST_NODES = 50_000
"""Nodes of one dump that are read."""

MOST_COMPARED = 2_500
"""Pairs of unlike children of one node that are compared; beyond that all of them died or were born."""

MOST_STEPS = 1_000
"""Nodes that are looked at when a split is sought."""

ALL_LAYERS = "all"
"""What the layer of an imported snapshot is called: a dump tells the sum over a node's layers."""


class Dumped:
    """A node as a dump lists it.

    Attributes:
        start: Where its edge begins.
        end: Where it ends.
        size: What its snapshots count, in bytes.
        user: An explicit restore point.
        snap: All layers have a snapshot.
        active: It is on the active path.
        children: The nodes below. No node knows the one above: a tree without circles is let go of as soon as the next dump has replaced it.
        node: Its number; -1 before it has one.
        snapshot: The number of its snapshot; -1 for none.
    """

    __slots__ = ("active", "children", "end", "node", "size", "snap", "snapshot", "start", "user")

    def __init__(self, start: int, end: int, size: int = 0, *, user: bool = False, snap: bool = False, active: bool = False) -> None:
        self.start = start
        self.end = end
        self.size = size
        self.user = user
        self.snap = snap
        self.active = active
        self.children: list[Dumped] = []
        self.node = -1
        self.snapshot = -1


class DumpReader:
    """Builds a tree from the nodes of one dump, each with its depth.

    Attributes:
        root: The root.
        nodes: How many nodes were taken, the root included.
        broken: Nodes that hang on nothing or whose edge does not begin where its parent's ends.
        left_out: Nodes beyond `MOST_NODES`.
    """

    __slots__ = ("_path", "broken", "left_out", "nodes", "root")

    def __init__(self, root: Dumped) -> None:
        self.root = root
        self._path = [root]
        self.nodes = 1
        self.broken = 0
        self.left_out = 0

    def add(self, depth: int, node: Dumped) -> bool:
        """Hang a node at a depth (1 below the root); return whether it fits."""
        if self.nodes >= MOST_NODES:
            self.left_out += 1
            return True
        path = self._path
        if not 0 < depth <= len(path) or path[depth - 1].end != node.start or node.end <= node.start:
            self.broken += 1
            return False
        del path[depth:]
        path[-1].children.append(node)
        path.append(node)
        self.nodes += 1
        return True


class Names:
    """Numbers of nodes and snapshots that no trie of one import shares."""

    __slots__ = ("node", "snapshot")

    def __init__(self) -> None:
        self.node = -1
        self.snapshot = 0

    def next_node(self) -> int:
        """Return a node's number that was not used before."""
        self.node += 1
        return self.node

    def next_snapshot(self) -> int:
        """Return a snapshot's number that was not used before."""
        self.snapshot += 1
        return self.snapshot


class TrieSeen:
    """One trie as it was last seen; each further dump becomes rows of what changed.

    Attributes:
        root: The last dump's tree; None before the first.
    """

    __slots__ = ("_frontier", "_matched", "_names", "root")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._frontier = -1
        self._matched: int | None = None
        self.root: Dumped | None = None

    def edges(self) -> set[tuple[int, int]]:
        """Return the edges of the last dump."""
        return {(node.start, node.end) for node in _walk(self.root)} if self.root else set()

    def seen(self, new: Dumped, rows: Rows, *, whole: bool = True, matched: int | None = None) -> None:
        """Write what changed.

        Args:
            new: The root of the dump.
            rows: Where it is written.
            whole: The dump lists all nodes. Of one that does not nothing is taken to have died, and it is left out unless it is the first.
            matched: How far the running request matched; None when not known.
        """
        old = self.root
        self._matched = matched
        if old is None:
            new.node = self._names.next_node()
            rows.add_to(0, "node_born", (new.node, -1, 0, 0, new.user))
            self._snapshots(None, new, rows)
            self._born_below(new, rows)
        elif not whole:
            return
        else:
            new.node = old.node
            self._match(old, new, rows)
        self.root = new
        self._move_frontier(new, rows)

    def gone(self, rows: Rows) -> None:
        """Write that the whole trie is gone: its process ended."""
        if self.root is not None:
            self._remove(self.root, rows)
        self.root, self._frontier = None, -1

    def _match(self, old_root: Dumped, new_root: Dumped, rows: Rows) -> None:
        waiting = [(old_root, new_root)]
        doomed: list[Dumped] = []
        while waiting:
            old, new = waiting.pop()
            self._snapshots(old, new, rows)
            pairs, gone, came = _pair(old.children, new.children)
            for before, after in pairs:
                after.node = before.node
                waiting.append((before, after))
            few = len(gone) * len(came) <= MOST_COMPARED
            for node in came:
                before = self._partner(node, gone) if few else None
                if before is None:
                    self._born(new, node, rows)
                else:
                    gone.remove(before)
                    waiting += self._changed(before, node, rows)
            doomed += gone
        for node in doomed:
            self._remove(node, rows)

    def _partner(self, new: Dumped, gone: list[Dumped]) -> Dumped | None:
        """Return what `new` was before: cut, merged with what hung on it, or grown; None when it is new."""
        for old in gone:
            longer, shorter = (old, new) if new.end < old.end else (new, old)
            if any(_leads_to(child, longer.end) for child in shorter.children):
                return old
        # only the running request's own path grows, and only from where it matched; one that looks a token ahead matches one less
        if not new.active:
            return None
        return next((old for old in gone if old.end < new.end and (self._matched is None or self._matched + 1 >= old.end)), None)

    def _changed(self, old: Dumped, new: Dumped, rows: Rows) -> list[tuple[Dumped, Dumped]]:
        """Write how `old` became `new`, which begin at the same place but end elsewhere; return pairs to go on with."""
        if new.end < old.end:
            return self._split(old, new, rows)
        below = old
        while below.end < new.end:
            onward = next((child for child in below.children if child.end <= new.end), None)
            if onward is None:
                break
            for other in below.children:
                if other is not onward:
                    self._remove(other, rows)
            rows.add("node_merged", onward.node, below.node, old.start, onward.end)
            self._close_snapshot(below, rows)
            below = onward
        if below.end == new.end:
            new.node = below.node
            return [(below, new)]
        # what is left is a leaf that grew: a new child that took its parent's edge
        for other in below.children:
            self._remove(other, rows)
        new.node = self._names.next_node()
        rows.add("node_born", new.node, below.node, below.end, new.end, new.user)
        rows.add("node_merged", new.node, below.node, new.start, new.end)
        self._close_snapshot(below, rows)
        self._snapshots(None, new, rows)
        self._born_below(new, rows)
        return []

    def _split(self, old: Dumped, head: Dumped, rows: Rows) -> list[tuple[Dumped, Dumped]]:
        start, after = old.start, head
        while after.end < old.end:
            after.node = self._names.next_node()
            rows.add("node_split", old.node, after.node, start, after.end)
            self._snapshots(None, after, rows)
            start = after.end
            onward = next((child for child in after.children if _leads_to(child, old.end)), None)
            for child in after.children:
                if child is not onward:
                    self._born(after, child, rows)
            if onward is None:
                break
            after = onward
        after.node = old.node
        self._close_snapshot(old, rows)
        return [(old, after)]

    def _born(self, above: Dumped, top: Dumped, rows: Rows) -> None:
        """Write that `top` and all below it were born, parents first."""
        waiting = [(above, top)]
        while waiting:
            parent, node = waiting.pop()
            node.node = self._names.next_node()
            rows.add("node_born", node.node, parent.node, node.start, node.end, node.user)
            self._snapshots(None, node, rows)
            waiting += [(node, child) for child in reversed(node.children)]

    def _born_below(self, top: Dumped, rows: Rows) -> None:
        for child in top.children:
            self._born(top, child, rows)

    def _remove(self, top: Dumped, rows: Rows) -> None:
        for node in reversed(list(_walk(top))):
            self._close_snapshot(node, rows)
            rows.add("node_removed", node.node)

    def _snapshots(self, old: Dumped | None, new: Dumped, rows: Rows) -> None:
        held = old is not None and old.snapshot >= 0
        if held and old is not None and (old.start, old.end) == (new.start, new.end):
            if old.size == new.size and (new.size or old.snap == new.snap):
                new.snapshot = old.snapshot
                return
            if not old.size and new.size:
                new.snapshot = old.snapshot
                rows.add("snapshot_owned", new.snapshot, new.size, None)
                return
        if old is not None:
            self._close_snapshot(old, rows)
        if (new.size or new.snap) and new.end:
            new.snapshot = self._names.next_snapshot()
            state = "owned" if new.size else "lazy"
            rows.add("snapshot_taken", new.snapshot, 0, ALL_LAYERS, new.start, new.end, state, new.size, None)
            rows.add("snapshot_placed", new.snapshot, new.node)

    def _close_snapshot(self, node: Dumped, rows: Rows) -> None:
        if node.snapshot >= 0:
            rows.add("snapshot_closed", node.snapshot)
            node.snapshot = -1

    def _move_frontier(self, root: Dumped, rows: Rows) -> None:
        node = root
        while onward := next((child for child in node.children if child.active), None):
            node = onward
        if node.node != self._frontier:
            self._frontier = node.node
            rows.add("frontier_moved", node.node)


def _walk(top: Dumped) -> Iterator[Dumped]:
    """Yield `top` and all nodes below it, parents first, children in their order."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _pair(old: list[Dumped], new: list[Dumped]) -> tuple[list[tuple[Dumped, Dumped]], list[Dumped], list[Dumped]]:
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


def _leads_to(node: Dumped, end: int) -> bool:
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
