"""A dump of a trie as a log prints it, line by line: each node's depth, edge, bytes and flags, checked against the nodes above it.

A dump lists nodes in depth-first order. Most of them are the same in every dump but for their ages, so a label is read once and then looked up.
Invariants: a row that was taken hangs on one that stands before it, and its edge begins where that one's ends; at most `MOST_NODES` rows are held.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.importers import ollama_values as values

MOST_NODES = 50_000
"""Nodes of one dump that are read."""

MOST_REMEMBERED = 1 << 23
"""Bytes of labels that are remembered."""

_NODE = b'"  '

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
        self.broken = 0
        self.left_out = 0

    def add(self, row: Row) -> bool:
        """Take the next node; return whether it fits."""
        ends, depth = self.ends, row[0]
        if not 0 < depth <= len(ends) or ends[depth - 1] != row[1] or row[2] <= row[1]:
            self.broken += 1
            return False
        if len(self.rows) >= MOST_NODES:
            self.left_out += 1
            return True
        if depth < len(ends):
            del ends[depth:]
        ends.append(row[2])
        self.rows.append(row)
        return True


class Labels:
    """Reads labels of nodes, and remembers them."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[bytes, Row | None] = {}
        self._size = 0

    def read(self, line: bytes, at: int) -> Row | None:
        """Return the node whose label begins, with its quote, at `at`; None when it is none, or its figures contradict each other."""
        label, _, flags = line[at:].partition(b" ago")
        if flags:
            # all but the age
            label = label[: label.rfind(b" ")] + flags
        return self._known[label] if label in self._known else self._read(label)

    def read_on(self, dump: DumpReader, lines: Sequence[bytes], place: int) -> int:
        """Take the nodes that stand in the lines from `place` on; return the place of the first line that is none or does not fit."""
        known, ends, rows = self._known, dump.ends, dump.rows
        room = MOST_NODES - len(rows)
        for here in range(place, min(len(lines), place + room)):
            line = lines[here]
            at = line.find(b" msg=") + 5
            if line[at : at + 3] != _NODE or line[-1:] != b'"':
                return here
            label, _, flags = line[at:].partition(b" ago")
            if flags:
                label = label[: label.rfind(b" ")] + flags
            row = known.get(label)
            if row is None:
                return here
            depth, start, end = row[:3]
            if not 0 < depth <= len(ends) or ends[depth - 1] != start or end <= start:
                return here
            if depth < len(ends):
                del ends[depth:]
            ends.append(end)
            rows.append(row)
        return max(place, min(len(lines), place + room))

    def _read(self, label: bytes) -> Row | None:
        self._size += len(label)
        if self._size > MOST_REMEMBERED:
            self._known, self._size = {}, 0
        row = self._known[label] = _row(label)
        return row


def _row(label: bytes) -> Row | None:
    found = values.NODE.search(label)
    if found is None:
        return None
    start, end, tokens, counted, flags = found.groups()
    first, last = int(start), int(end)
    # two spaces and four letters a level before the edge, a quote before them
    depth = max(0, label.find(b"[") - 3) // 4
    if last - first != int(tokens):
        return None
    told = flags or b""
    return depth, first, last, (values.size(counted) or 0) if counted else 0, b"user" in told, b"snap" in told, b"active" in told
