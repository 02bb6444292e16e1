"""A trie as events give it, kept up to now, and printed in the way of Ollama's dumps. No recursion: a conversation's trie is as deep as it has turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvlab.recording.fold_nodes import ROOT, NodeFold
from kvlab.recording.fold_spans import SpanFold, SpanVersion
from kvlab.units import binary

Row = dict[str, Any]

_TAKEN = ("group", "layer", "start", "end", "state", "counted", "retained", "call_site")


class TrieNow:
    """The nodes and snapshots that are alive after the events so far.

    Args:
        layers: Layer groups that keep a state: a node with so many snapshots is complete.
    """

    def __init__(self, layers: int) -> None:
        self._layers = layers
        self._fold = NodeFold()
        self._spans = SpanFold()
        self._frontier = ROOT

    def take(self, row: Row) -> None:
        """Take the next event, a row of the table of events."""
        seq, kind, node, fold, spans = row["seq"], row["kind"], row["node"], self._fold, self._spans
        if kind == "node_born":
            fold.born(seq, row["request"], node, row["parent"], row["start"], row["end"], user=row["user"])
        elif kind == "node_split":
            fold.split(seq, row["request"], node, row["head"], row["start"], row["end"])
        elif kind == "node_merged":
            fold.merged(seq, node, row["head"], row["start"], row["end"])
        elif kind == "node_removed":
            fold.removed(seq, node)
        elif kind == "frontier_moved":
            self._frontier = node
        elif kind == "snapshot_taken":
            spans.taken(SpanVersion(row["snapshot"], seq, **{name: row[name] for name in _TAKEN}))
        elif kind == "snapshot_placed":
            spans.placed(seq, row["snapshot"], node)
        elif kind == "snapshot_owned":
            spans.owned(seq, row["snapshot"], row["counted"], row["retained"], row["call_site"])
        elif kind == "snapshot_closed":
            spans.closed(seq, row["snapshot"])

    @property
    def nodes(self) -> int:
        """Nodes alive, the root included."""
        return max(1, len(self._fold.alive))

    @property
    def counted(self) -> int:
        """Bytes that snapshots on nodes count."""
        return sum(span.counted or 0 for span in self._spans.alive.values() if span.node is not None)

    @property
    def complete(self) -> int:
        """Nodes on which every layer has a snapshot."""
        return sum(count == self._layers for _, count in self._sums().values())

    @property
    def offset(self) -> int:
        """Where the active path ends."""
        frontier = self._fold.alive.get(self._frontier)
        return (frontier.end or 0) if frontier else 0

    def lines(self) -> Iterator[str]:
        """Yield the messages of a dump."""
        below: dict[int, list[int]] = {}
        for version in self._fold.alive.values():
            if version.node != ROOT and version.parent is not None:
                below.setdefault(version.parent, []).append(version.node)
        sums, active = self._sums(), self._active()
        yield f"cache trie: {self._label(ROOT, sums, active)}"
        waiting = [(node, "", place == 0) for place, node in enumerate(reversed(below.get(ROOT, ())))]
        while waiting:
            node, indent, is_last = waiting.pop()
            yield f"  {indent}{'`-- ' if is_last else '|-- '}{self._label(node, sums, active)}"
            deeper = indent + ("    " if is_last else "|   ")
            waiting += [(child, deeper, place == 0) for place, child in enumerate(reversed(below.get(node, ())))]

    def _label(self, node: int, sums: dict[int, tuple[int, int]], active: set[int]) -> str:
        version = self._fold.alive.get(node)
        start, end = (version.start or 0, version.end or 0) if version else (0, 0)
        counted, count = sums.get(node, (0, 0))
        named = [("user", bool(version and version.user)), ("snap", node != ROOT and 0 < self._layers == count), ("active", node in active)]
        flags = ", ".join(name for name, holds in named if holds)
        return f"[{start},{end}) {end - start}t{f' {binary(counted)}' if counted else ''} 0s ago{f' ({flags})' if flags else ''}"

    def _sums(self) -> dict[int, tuple[int, int]]:
        sums: dict[int, tuple[int, int]] = {}
        for span in self._spans.alive.values():
            if span.node is not None:
                counted, count = sums.get(span.node, (0, 0))
                sums[span.node] = counted + (span.counted or 0), count + 1
        return sums

    def _active(self) -> set[int]:
        path: set[int] = set()
        node: int | None = self._frontier
        while node is not None and node not in path and node in self._fold.alive:
            path.add(node)
            node = self._fold.alive[node].parent
        return path | {ROOT}
