"""The table `nodes`: versions of the trie's nodes as intervals of existence.

A version exists from `born` up to, not including, `died` (null while it is alive). Every change of parent or edge ends a
version and begins the next. Invariants: of one node no two versions live at the same moment; `user` and `request` (the one in
which the node was born) are the same in all versions of a node; versions are in the order of `born`, then of `node`.

A recording may begin in the middle of a cache's life, or have lost a part. Then a node that is named but was not seen to be
born gets a version with what is known of it, the rest null; the root, node 0, has existed from the first event on. A root that
is born again is a new trie: the nodes of the old one die.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import polars as pl

from kvlab.events import Event, NodeBorn, NodeMerged, NodeRemoved, NodeSplit
from kvlab.recording.by_kind import EventTables

SCHEMA: dict[str, pl.DataType] = {
    "node": pl.Int64(),
    "parent": pl.Int64(),
    "start": pl.Int64(),
    "end": pl.Int64(),
    "user": pl.Boolean(),
    "request": pl.Int64(),
    "born": pl.Int64(),
    "died": pl.Int64(),
}
"""The columns of `nodes`: [start, end) is the node's edge in tokens from the root; `born` and `died` are `seq`s."""

ROOT = 0

_KINDS = (NodeBorn, NodeSplit, NodeMerged, NodeRemoved)


@dataclass(slots=True, eq=False)
class NodeVersion:
    """One version of a node, with the columns of `SCHEMA`; what the events do not record is None.

    Attributes:
        node: Its number.
        parent: Its parent's number.
        start: Where its edge begins, in tokens from the root.
        end: Where its edge ends; exclusive.
        user: It is an explicit restore point.
        request: The request in which the node was born.
        born: The event (`seq`) with which this version began.
        died: The event (`seq`) that ended it; None while it is alive.
    """

    node: int
    parent: int | None
    start: int | None
    end: int | None
    user: bool | None
    request: int | None
    born: int
    died: int | None = None


class NodeFold:
    """Versions of nodes, taken from one event after another.

    Attributes:
        all: All versions there were, in the order of `born`.
        alive: Those that live, by node.
        ended: Those that died, in that order.
    """

    def __init__(self) -> None:
        self.all: list[NodeVersion] = []
        self.alive: dict[int, NodeVersion] = {}
        self.ended: list[NodeVersion] = []

    def take(self, event: Event) -> None:
        """Take the next event; those that are not about nodes change nothing."""
        if isinstance(event, NodeBorn):
            self.born(event.seq, event.request, event.node, event.parent, event.start, event.end, user=event.user)
        elif isinstance(event, NodeSplit):
            self.split(event.seq, event.request, event.node, event.head, event.start, event.end)
        elif isinstance(event, NodeMerged):
            self.merged(event.seq, event.node, event.head, event.start, event.end)
        elif isinstance(event, NodeRemoved):
            self.removed(event.seq, event.node)

    def born(self, seq: int, request: int, node: int, parent: int, start: int, end: int, *, user: bool) -> None:
        """A node was born, or grew in place."""
        if node == ROOT:
            for one in list(self.alive):
                self.removed(seq, one)
        before = self.alive.get(node)
        if before is None:
            self._begin(NodeVersion(node, parent, start, end, user=user, request=request, born=seq))
        elif (before.parent, before.start, before.end) != (parent, start, end):
            self._change(before, seq, parent, start, end)

    def split(self, seq: int, request: int, node: int, head: int, start: int, end: int) -> None:
        """A node was cut."""
        before = self.alive.get(node)
        self._begin(NodeVersion(head, before.parent if before else None, start, end, user=False, request=request, born=seq))
        if before:
            self._change(before, seq, head, end, before.end)
        else:
            self._begin(NodeVersion(node, head, end, end=None, user=None, request=None, born=seq))

    def merged(self, seq: int, node: int, head: int, start: int, end: int) -> None:
        """A node took over its parent's edge."""
        gone = self.removed(seq, head)
        before = self.alive.get(node)
        parent = gone.parent if gone else None
        if before:
            self._change(before, seq, parent, start, end)
        else:
            self._begin(NodeVersion(node, parent, start, end, user=None, request=None, born=seq))

    def removed(self, seq: int, node: int) -> NodeVersion | None:
        """A node left the trie; return its last version, None when it was not known."""
        version = self.alive.pop(node, None)
        if version:
            self._end(version, seq)
        return version

    def _change(self, before: NodeVersion, seq: int, parent: int | None, start: int | None, end: int | None) -> None:
        self._end(before, seq)
        self._begin(dataclasses.replace(before, parent=parent, start=start, end=end, born=seq, died=None))

    def _end(self, version: NodeVersion, seq: int) -> None:
        version.died = seq
        self.ended.append(version)

    def _begin(self, version: NodeVersion) -> None:
        self.alive[version.node] = version
        self.all.append(version)


def fold_nodes(events: EventTables) -> pl.DataFrame:
    """Return the table of nodes, with `SCHEMA`. Empty when no event is about the trie."""
    changes = events.rows(*_KINDS, columns=("kind", "seq", "request", "node", "parent", "head", "start", "end", "user"))
    if not changes.height:
        return pl.DataFrame(schema=SCHEMA)
    fold = NodeFold()
    if not changes.filter((pl.col("kind") == NodeBorn.kind) & (pl.col("node") == ROOT)).height:
        fold.born(events.first, 0, ROOT, -1, 0, 0, user=False)
    for kind, seq, request, node, parent, head, start, end, user in changes.iter_rows():
        if kind == NodeBorn.kind:
            fold.born(seq, request, node, parent, start, end, user=user)
        elif kind == NodeSplit.kind:
            fold.split(seq, request, node, head, start, end)
        elif kind == NodeMerged.kind:
            fold.merged(seq, node, head, start, end)
        else:
            fold.removed(seq, node)
    columns = {name: [getattr(version, name) for version in fold.all] for name in SCHEMA}
    return pl.DataFrame(columns, schema=SCHEMA).sort("born", "node", maintain_order=True)
