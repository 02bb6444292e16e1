"""What changed in a trie from one dump to the next, where a log of ours tells each node's number and its snapshots: nothing has to be guessed.

A dump tells the state at one moment, so what happened between two of them and left no trace is not seen. What is seen is written as a split, a merge, a
birth or a removal where it is one; a node that changed in several steps is told again with its new edge.

Invariants: after every dump the fold of the events is the dump; numbers are those that the log tells, but two tries of one log never share one.
"""

from __future__ import annotations

from typing import NamedTuple

from kvlab.importers.dump_lines import DumpReader, Row
from kvlab.importers.dump_nodes import Names
from kvlab.importers.own_attributes import ToldSnapshot
from kvlab.importers.rows import Rows

NOWHERE = -1

MOST_STEPS = 200
"""Nodes that one node can have been cut into between two dumps."""

_FIXED = ToldSnapshot._fields.index("state")
"""Fields of a snapshot that never change."""


class _Node(NamedTuple):
    """Where a node hangs and its edge; `above` is the number that the log tells."""

    above: int
    start: int
    end: int
    user: bool


class _Held(NamedTuple):
    node: int
    snapshot: ToldSnapshot


class TrieNamed:
    """One trie as it was last seen, by the numbers that the log tells.

    Attributes:
        rows: The last dump; empty before the first.
    """

    __slots__ = ("_frontier", "_held", "_names", "_nodes", "_numbers", "_snapshot_numbers", "rows")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._nodes: dict[int, _Node] = {}
        self._held: dict[int, _Held] = {}
        self._numbers: dict[int, int] = {NOWHERE: NOWHERE}
        self._snapshot_numbers: dict[int, int] = {}
        self._frontier = NOWHERE
        self.rows: list[Row] = []

    def seen(self, dump: DumpReader, rows: Rows, *, whole: bool = True, matched: int | None = None) -> None:
        """Write what changed; a dump that is not `whole`, or names a node twice, is left out."""
        del matched
        told = dump.told or []
        new = _nodes(dump.rows, [one.node for one in told])
        if not whole or len(new) != len(told):
            return
        for node in sorted(new.keys() - self._numbers.keys()):
            self._numbers[node] = self._names.next_node(node)
        self._splits(new, rows)
        self._merges(new, rows)
        for node in [one for one in self._nodes if one not in new]:
            del self._nodes[node]
            rows.add("node_removed", self._numbers.pop(node))
        for node, state in new.items():
            if self._nodes.get(node) != state:
                values = (self._numbers[node], self._numbers[state.above], state.start, state.end, state.user)
                rows.add_to(0 if not self.rows and not state.end else rows.request, "node_born", values)
        self._nodes = new
        self._snapshots({one.snapshot: _Held(node.node, one) for node in told for one in node.snapshots}, rows)
        frontier = next((node.node for node, row in zip(reversed(told), reversed(dump.rows), strict=True) if row[6]), told[0].node)
        if self._numbers[frontier] != self._frontier:
            self._frontier = self._numbers[frontier]
            rows.add("frontier_moved", self._frontier)
        self.rows = dump.rows

    def gone(self, rows: Rows) -> None:
        """Write that the whole trie is gone: its process ended."""
        self._snapshots({}, rows)
        for node in reversed(self._nodes):
            rows.add("node_removed", self._numbers[node])
        self._nodes, self._numbers, self.rows = {}, {NOWHERE: NOWHERE}, []
        self._frontier = NOWHERE

    def _splits(self, new: dict[int, _Node], rows: Rows) -> None:
        """New nodes that stand between an old one and its old parent were cut off it."""
        for node, was in list(self._nodes.items()):
            if node not in new or new[node].start <= was.start:
                continue
            heads: list[int] = []
            above = new[node].above
            while above in new and above not in self._nodes and len(heads) < MOST_STEPS:
                heads.append(above)
                above = new[above].above
            if not heads or above != was.above or new[heads[-1]].start != was.start or any(new[head].user for head in heads):
                continue
            for head in reversed(heads):
                rows.add("node_split", self._numbers[node], self._numbers[head], new[head].start, new[head].end)
                self._nodes[head] = new[head]
            self._nodes[node] = _Node(heads[0], new[heads[0]].end, was.end, was.user)

    def _merges(self, new: dict[int, _Node], rows: Rows) -> None:
        """An old node that took over the edge of its parent, which is gone, was merged with it."""
        for node, state in new.items():
            while (was := self._nodes.get(node)) is not None and was.start > state.start and was.above in self._nodes and was.above not in new:
                above = self._nodes.pop(was.above)
                rows.add("node_merged", self._numbers[node], self._numbers.pop(was.above), above.start, was.end)
                self._nodes[node] = _Node(above.above, above.start, was.end, was.user)

    def _snapshots(self, new: dict[int, _Held], rows: Rows) -> None:
        for number in [one for one in self._held if one not in new]:
            rows.add("snapshot_closed", self._snapshot_numbers.pop(number))
        for number, held in sorted(new.items()):
            was, one = self._held.get(number), held.snapshot
            if was == held:
                continue
            told = self._snapshot_numbers.get(number)
            copied = was is not None and one.state == "owned" and was.snapshot[:_FIXED] == one[:_FIXED]
            if was is not None and told is not None and was.snapshot == one:
                pass
            elif copied and told is not None:
                rows.add("snapshot_owned", told, one.counted, one.retained, one.call_site)
            else:
                if told is not None:
                    rows.add("snapshot_closed", told)
                told, was = self._names.next_snapshot(number), None
                self._snapshot_numbers[number] = told
                rows.add("snapshot_taken", told, one.group, one.layer, one.start, one.end, one.state, one.counted, one.retained, one.call_site)
            if was is None or was.node != held.node:
                rows.add("snapshot_placed", told, self._numbers[held.node])
        self._held = new


def _nodes(rows: list[Row], numbers: list[int]) -> dict[int, _Node]:
    """Return the nodes of a dump, parents first."""
    path: list[int] = []
    found: dict[int, _Node] = {}
    for row, number in zip(rows, numbers, strict=True):
        del path[row[0] :]
        found[number] = _Node(path[-1] if path else NOWHERE, row[1], row[2], row[4])
        path.append(number)
    return found
