"""What changed in a trie from one dump to the next, where dumps give no names: nodes and snapshots as events.

A node of the next dump is the same one if it hangs on the same node with the same edge. A new node that takes the beginning of an old edge, with
the rest below it, is a split; an old node whose edge became the beginning of its only child's is a merge; a leaf that grew under a request that matched all
of it is a new child merged with it at once, as upstream main grows. Everything else died or was born. The edges of every moment are right whatever the names.

Invariants: no recursion, a hostile dump may be as deep as it likes; only the part of a dump that differs is looked at; node 0 is the first trie's root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from kvlab.importers.rows import Rows
from kvlab.importers.trie_dumps import Dumped, DumpReader, Row, change, leads_to, pair, planted, walk

MOST_COMPARED = 2_500
"""Pairs of unlike children of one node that are compared; beyond that all of them died or were born."""

ALL_LAYERS = "all"
"""What the layer of an imported snapshot is called: a dump tells the sum over a node's layers."""


class Names:
    """Numbers of nodes and snapshots that no trie of one import shares."""

    def __init__(self) -> None:
        self.node, self.snapshot = count(), count(1)


class TrieSeen:
    """One trie as it was last seen; each further dump becomes rows of what changed.

    Attributes:
        rows: The last dump; empty before the first.
    """

    __slots__ = ("_frontier", "_matched", "_names", "_nodes", "rows")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._frontier = -1
        self._matched: int | None = None
        self._nodes: list[Dumped] = []
        self.rows: list[Row] = []

    def seen(self, dump: DumpReader, rows: Rows, *, whole: bool = True, matched: int | None = None) -> None:
        """Write what changed.

        Args:
            dump: The dump.
            rows: Where it is written.
            whole: The dump lists all nodes. Of one that does not nothing is taken to have died, and it is left out unless it is the first.
            matched: How far the running request matched; None when not known.
        """
        self._matched = matched
        if not self.rows:
            self._first(dump.rows, rows)
        elif whole:
            self._next(dump.rows, rows)
        else:
            return
        self.rows = dump.rows
        self._move_frontier(rows)

    def gone(self, rows: Rows) -> None:
        """Write that the whole trie is gone: its process ended."""
        if self._nodes:
            self._remove(self._nodes[0], rows)
        self._nodes, self.rows, self._frontier = [], [], -1

    def _first(self, listed: list[Row], rows: Rows) -> None:
        self._nodes, (root,) = planted(listed, 0)
        root.node = next(self._names.node)
        rows.add_to(0, "node_born", (root.node, -1, 0, 0, root.user))
        self._snapshots(None, root, rows)
        for child in root.children:
            self._born(root, child, rows)

    def _next(self, listed: list[Row], rows: Rows) -> None:
        found = change(self.rows, listed)
        if found is None:
            return
        above, depth = self._nodes[found.above], found.depth
        old = [node for node, row in zip(self._nodes[found.first : found.old_end], self.rows[found.first : found.old_end], strict=True) if row[0] == depth]
        nodes, new = planted(listed[found.first : found.new_end], depth)
        self._match(above, old, new, rows)
        above.children[found.place : found.place + len(old)] = new
        self._nodes[found.first : found.old_end] = nodes

    def _match(self, above: Dumped, old: Sequence[Dumped], new: Sequence[Dumped], rows: Rows) -> None:
        """Write how the children `old` of a node became `new`, and all below them."""
        doomed: list[Dumped] = []
        waiting = self._children(above, old, new, doomed, rows)
        while waiting:
            before, after = waiting.pop()
            if (before.start, before.size, before.snap) == (after.start, after.size, after.snap):
                after.snapshot = before.snapshot
            else:
                self._snapshots(before, after, rows)
            old, new = before.children, after.children
            # most of a conversation's trie is a chain
            if len(old) == 1 == len(new) and (old[0].start, old[0].end) == (new[0].start, new[0].end):
                new[0].node = old[0].node
                waiting.append((old[0], new[0]))
            elif old or new:
                waiting += self._children(after, old, new, doomed, rows)
        for node in doomed:
            self._remove(node, rows)

    def _children(self, above: Dumped, old: Sequence[Dumped], new: Sequence[Dumped], doomed: list[Dumped], rows: Rows) -> list[tuple[Dumped, Dumped]]:
        """Write how the children of one node changed; return pairs to go on with."""
        pairs, gone, came = pair(old, new)
        for before, after in pairs:
            after.node = before.node
        few = len(gone) * len(came) <= MOST_COMPARED
        for node in came:
            before = self._partner(node, gone) if few else None
            if before is None:
                self._born(above, node, rows)
            else:
                gone.remove(before)
                pairs += self._changed(before, node, rows)
        doomed += gone
        return pairs

    def _partner(self, new: Dumped, gone: list[Dumped]) -> Dumped | None:
        """Return what `new` was before: cut, merged with what hung on it, or grown; None when it is new."""
        for old in gone:
            longer, shorter = (old, new) if new.end < old.end else (new, old)
            if any(leads_to(child, longer.end) for child in shorter.children):
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
        new.node = next(self._names.node)
        rows.add("node_born", new.node, below.node, below.end, new.end, new.user)
        rows.add("node_merged", new.node, below.node, new.start, new.end)
        self._close_snapshot(below, rows)
        self._snapshots(None, new, rows)
        for child in new.children:
            self._born(new, child, rows)
        return []

    def _split(self, old: Dumped, head: Dumped, rows: Rows) -> list[tuple[Dumped, Dumped]]:
        start, after = old.start, head
        while after.end < old.end:
            after.node = next(self._names.node)
            rows.add("node_split", old.node, after.node, start, after.end)
            self._snapshots(None, after, rows)
            start = after.end
            onward = next((child for child in after.children if leads_to(child, old.end)), None)
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
            node.node = next(self._names.node)
            rows.add("node_born", node.node, parent.node, node.start, node.end, node.user)
            self._snapshots(None, node, rows)
            waiting += [(node, child) for child in reversed(node.children)]

    def _remove(self, top: Dumped, rows: Rows) -> None:
        for node in reversed(list(walk(top))):
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
                rows.add("snapshot_owned", new.snapshot, new.size, None, None)
                return
        if old is not None:
            self._close_snapshot(old, rows)
        if (new.size or new.snap) and new.end:
            new.snapshot = next(self._names.snapshot)
            state = "owned" if new.size else "lazy"
            rows.add("snapshot_taken", new.snapshot, 0, ALL_LAYERS, new.start, new.end, state, new.size, None, None)
            rows.add("snapshot_placed", new.snapshot, new.node)

    def _close_snapshot(self, node: Dumped, rows: Rows) -> None:
        if node.snapshot >= 0:
            rows.add("snapshot_closed", node.snapshot)
            node.snapshot = -1

    def _move_frontier(self, rows: Rows) -> None:
        # the active path is listed from the root down, so the last of its nodes is its end
        place = next((place for place in range(len(self.rows) - 1, 0, -1) if self.rows[place][6]), 0)
        node = self._nodes[place].node
        if node != self._frontier:
            self._frontier = node
            rows.add("frontier_moved", node)
