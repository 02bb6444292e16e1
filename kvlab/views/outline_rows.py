"""The trie as rows, depth first: the middle form between a moment and its drawing or its text.

Invariants: a parent's row is above its children's; children are in the order of their ids, so a new branch comes last;
every alive node has exactly one row; depth is the number of ancestors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvlab.recording import Moment

WEIGHT = ("view", "owned", "lazy")
"""States of a node's snapshots, the one worth seeing first: a node with any `view` is drawn as view."""


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One node in an outline.

    Attributes:
        node: Its id; the root is 0.
        place: Its row, from 0.
        depth: How many ancestors it has.
        start: Where its edge begins, a token position.
        end: Where its edge ends.
        user: It is an explicit restore point.
        active: It lies on the active path.
        counted: Counted bytes of its snapshots.
        state: The state it is drawn in: view, owned, lazy or missing.
        snapshots: Its snapshots in words, such as `2 owned, 1 lazy`.
        request: The request in which it was born.
    """

    node: int
    place: int
    depth: int
    start: int
    end: int
    user: bool
    active: bool
    counted: int
    state: str
    snapshots: str
    request: int

    @property
    def tokens(self) -> int:
        """Tokens on its edge."""
        return self.end - self.start

    @property
    def label(self) -> str:
        """Its name."""
        return "root" if self.node == 0 else f"#{self.node}"


def outline_rows(moment: Moment, most: int | None = None) -> list[OutlineRow]:
    """Return the alive nodes of a moment, depth first; at most `most` of them: the newest, with all their ancestors."""
    nodes: dict[int, dict[str, Any]] = {row["node"]: row for row in moment.nodes.iter_rows(named=True)}
    if most is not None and len(nodes) > most:
        nodes = _newest(nodes, most)
    return [_row(place, depth, nodes[node]) for place, (node, depth) in enumerate(_depth_first(nodes))]


def _newest(nodes: dict[int, dict[str, Any]], most: int) -> dict[int, dict[str, Any]]:
    kept: dict[int, dict[str, Any]] = {}
    for newest in sorted(nodes, reverse=True):
        path: list[int] = []
        node = newest
        while node in nodes and node not in kept and node not in path:
            path.append(node)
            node = nodes[node]["parent"]
        if len(kept) + len(path) > most:
            break
        kept |= {node: nodes[node] for node in path}
    return kept


def _depth_first(nodes: dict[int, dict[str, Any]]) -> Iterator[tuple[int, int]]:
    children: dict[int, list[int]] = {}
    tops: list[int] = []
    for node in sorted(nodes, reverse=True):
        parent = nodes[node]["parent"]
        (children.setdefault(parent, []) if parent in nodes and parent != node else tops).append(node)
    stack = [(node, 0) for node in tops]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack += [(child, depth + 1) for child in children.get(node, [])]


def _row(place: int, depth: int, node: dict[str, Any]) -> OutlineRow:
    return OutlineRow(
        node=node["node"],
        place=place,
        depth=depth,
        start=node["start"],
        end=node["end"],
        user=bool(node["user"]),
        active=bool(node["active"]),
        counted=node["counted"],
        state=next((state for state in WEIGHT if node[state]), "missing"),
        snapshots=", ".join(f"{node[state]} {state}" for state in WEIGHT if node[state]) or ("" if node["node"] == 0 else "none"),
        request=node["request"],
    )
