"""Dumps of a trie as a log prints them: a node a line, and which part of a dump differs from the one before.

A dump lists nodes in depth-first order. Most of them are the same in every dump but for their ages, so a label is read once and then looked up.
Invariants: a row that was taken hangs on one before it, and its edge begins where that one's ends; at most `MOST_NODES` rows are held. No node knows the
one above it, and nothing recurses: a hostile dump may be as deep as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import eq

from kvlab.importers.figures import size

MOST_NODES = 50_000
"""Nodes of one dump that are read."""

MOST_REMEMBERED = 1 << 23
"""Letters of labels that are remembered."""

MOST_STEPS = 1_000
"""Nodes that are looked at when a split is sought."""

NODE = re.compile(
    r"\[(?P<start>[0-9]{1,18}),(?P<end>[0-9]{1,18})\) (?P<tokens>[0-9]{1,18})t"
    r"(?: (?P<counted>[0-9.]{1,20} [KMGT]?i?B))?(?: \S{1,40} ago)?(?: \((?P<flags>[a-z, ]{1,40})\))?\"$"
)

_NODE = '"  '

Row = tuple[int, int, int, int, bool, bool, bool]
"""Depth (0 for the root), start and end of the edge, bytes counted, and the flags user, snap and active. Equal rows are mostly one object."""


class DumpReader:
    """Takes the nodes of one dump.

    Attributes:
        rows: The nodes, the root first.
        ends: Where the edges of the last node and of those above it end, the root's first.
        broken: Nodes that hang on nothing or whose edge does not begin where their parent's ends.
        left_out: Nodes beyond `MOST_NODES`.
    """

    __slots__ = ("broken", "ends", "left_out", "rows")

    def __init__(self, root: Row) -> None:
        self.rows = [root]
        self.ends = [root[2]]
        self.broken = self.left_out = 0


class Labels:
    """Reads labels of nodes, and remembers them."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[str, Row | None] = {}
        self._size = 0

    def take(self, dump: DumpReader, lines: Sequence[str], place: int, at: int) -> int:
        """Take the nodes whose labels begin with their quote at `at` of the lines from `place` on; return how many, up to one that does not fit."""
        known, ends, rows = self._known, dump.ends, dump.rows
        for here in range(place, len(lines)):
            line = lines[here]
            if not line.startswith(_NODE, at) or line[-1:] != '"':
                # the moments before it may differ in length
                at = line.find(_NODE) if line[-1:] == '"' else -1
                if at < 0:
                    return here - place
            label, _, flags = line[at:].partition(" ago")
            if flags:
                # all but the age
                label = label[: label.rfind(" ")] + flags
            row = known.get(label) or self._read(label)
            if row is None:
                return here - place
            depth, start, end = row[:3]
            if not 0 < depth <= len(ends) or ends[depth - 1] != start or end <= start:
                dump.broken += 1
                return here - place
            if len(rows) >= MOST_NODES:
                dump.left_out += 1
                continue
            if depth < len(ends):
                del ends[depth:]
            ends.append(end)
            rows.append(row)
        return len(lines) - place

    def _read(self, label: str) -> Row | None:
        if label in self._known:
            return None
        self._size += len(label)
        if self._size > MOST_REMEMBERED:
            self._known.clear()
            self._size = 0
        row = self._known[label] = row_of(label)
        return row


def row_of(label: str) -> Row | None:
    """Return the node of a label; None when it is none, or its figures contradict each other."""
    found = NODE.search(label)
    if found is None:
        return None
    start, end = int(found["start"]), int(found["end"])
    if end - start != int(found["tokens"]):
        return None
    # two spaces and four letters a level before the edge, a quote before them
    depth = max(0, label.find("[") - 3) // 4
    flags, counted = found["flags"] or "", found["counted"]
    return depth, start, end, (size(counted) or 0) if counted else 0, "user" in flags, "snap" in flags, "active" in flags


@dataclass(frozen=True, slots=True)
class Change:
    """Rows [first, old_end) of the old dump became rows [first, new_end) of the new one: whole subtrees below one node that is in both.

    Attributes:
        first: The first row that differs, or that is above one that does.
        old_end: After the last of them in the old dump.
        new_end: After the last of them in the new one.
        depth: The depth of the topmost of them.
        above: The row of the node on which these hang.
        place: How many of its children are before them.
    """

    first: int
    old_end: int
    new_end: int
    depth: int
    above: int
    place: int


def change(old: Sequence[Row], new: Sequence[Row]) -> Change | None:
    """Return what differs between two dumps; None when nothing does. The root's own row is not looked at."""
    first = 1 + _common(old[1:], new[1:])
    if first == len(old) == len(new):
        return None
    same = _common(old[: first - 1 : -1], new[: first - 1 : -1])
    old_end, new_end = len(old) - same, len(new) - same
    depth = min([row[0] for row in old[first:old_end]] + [row[0] for row in new[first:new_end]])
    # what is deeper than the topmost row and follows it is below it
    while old_end < len(old) and old[old_end][0] > depth:
        old_end += 1
        new_end += 1
    if any(rows[first][0] > depth for rows, end in ((old, old_end), (new, new_end)) if first < end):
        first -= 1
        while old[first][0] > depth:
            first -= 1
    above, place = first - 1, 0
    while old[above][0] >= depth:
        place += old[above][0] == depth
        above -= 1
    return Change(first, old_end, new_end, depth, above, place)


def _common(old: Sequence[Row], new: Sequence[Row]) -> int:
    """Return how many rows at the beginning are equal."""
    least = min(len(old), len(new))
    # equal rows are mostly one object, and lists compare those without a look inside
    return least if old[:least] == new[:least] else list(map(eq, old, new)).index(False)


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
        self.node = self.snapshot = -1


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
    if [(one.start, one.end) for one in old] == [(one.start, one.end) for one in new]:
        return list(zip(old, new, strict=True)), [], []
    by_edge: dict[tuple[int, int], list[Dumped]] = {}
    for node in reversed(old):
        by_edge.setdefault((node.start, node.end), []).append(node)
    pairs: list[tuple[Dumped, Dumped]] = []
    came: list[Dumped] = []
    for node in new:
        same = by_edge.get((node.start, node.end))
        if same:
            pairs.append((same.pop(), node))
        else:
            came.append(node)
    left = {id(one) for several in by_edge.values() for one in several}
    return pairs, [node for node in old if id(node) in left], came


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
