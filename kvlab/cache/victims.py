"""Victims: which node eviction takes next, without a walk over the trie, and the record of what that follows from.

A heap of nodes that may be evicted, in the policy's order; `lru` is least recently used first, ties go to the deepest end, then to the
most counted bytes.
Invariants: a node is pushed whenever it becomes a candidate or its key goes down (its bytes grew); a key that went up since
(the node was used) is put back when it comes up. So the smallest valid entry is always the right victim. What is no longer
valid (its node was pushed again or left the trie) is dropped before it outnumbers what was valid at the last check: under a
budget that is never reached, the heap holds at most about twice the nodes there ever were at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from kvlab.events import Event, NodeRanked
from kvlab.trie import Node

_Key = tuple[float, int, int]
_Entry = tuple[float, int, int, int, Node]


def _least_recent(node: Node) -> _Key:
    return node.used, -node.end, -node.counted


def _first_in(node: Node) -> _Key:
    return node.id, -node.end, -node.counted


def _least_often(node: Node) -> _Key:
    return node.uses, node.used, -node.end


def _cheapest(node: Node) -> _Key:
    # Tokens to evaluate again for each byte that goes; a node without counted bytes frees nothing and goes last.
    return node.tokens / node.counted if node.counted else float("inf"), node.used, -node.end


Order = Callable[[Node], _Key]

ORDERS: dict[str, Order] = {"lru": _least_recent, "fifo": _first_in, "lfu": _least_often, "cost": _cheapest}
"""By name of the choice `evict_order`: what a victim is chosen by, the smallest first."""

Ranked = tuple[str, int, int, float | None, int | None, int | None]
"""Protection, clock and number of uses, and what the order goes by."""

_UNKNOWN = (None, None, None)

_FEWEST = 64


class Ranking:
    """What decides when eviction takes each node, recorded as events: of the nodes noted since the last `record` those where it changed."""

    __slots__ = ("_emit", "_noted", "_order", "_protection")

    def __init__(self, protection: Callable[[Node], str], order: Order | None, emit: Callable[[Event], None]) -> None:
        self._protection = protection
        self._order = order
        self._emit = emit
        self._noted: dict[int, Node] = {}

    def note(self, node: Node) -> None:
        """Note that a node was used, or that its bytes, its edge, its children or its place on the active path changed."""
        self._noted[node.id] = node

    def record(self) -> None:
        """Record what changed."""
        if not self._noted:
            return
        for node in self._noted.values():
            if node.parent is None and node.id:
                continue
            ranked = self._of(node)
            if ranked != node.ranked:
                node.ranked = ranked
                self._emit(_event(node, ranked))
        self.forget()

    def forget(self) -> None:
        """Let what was noted go unrecorded."""
        self._noted.clear()

    def of(self, node: Node) -> NodeRanked:
        """Return what decides when eviction takes `node`, as it is now."""
        return _event(node, self._of(node))

    def _of(self, node: Node) -> Ranked:
        first, second, third = self._order(node) if self._order else _UNKNOWN
        return self._protection(node), node.used, node.uses, first, second, third


def _event(node: Node, ranked: Ranked) -> NodeRanked:
    protection, used, uses, first, second, third = ranked
    return NodeRanked(node=node.id, protection=protection, used=used, uses=uses, first=first, second=second, third=third)


class Victims:
    """The queue of nodes that may be evicted."""

    __slots__ = ("_heap", "_key", "_most", "_protection")

    def __init__(self, protection: Callable[[Node], str], order: str = "lru") -> None:
        self._protection = protection
        self._key = ORDERS[order]
        self._heap: list[_Entry] = []
        self._most = _FEWEST

    def push(self, node: Node) -> None:
        """Push `node`, which may have become a candidate or whose bytes grew."""
        entry: _Entry = (*self._key(node), node.id, node)
        if node.queued is None or entry < node.queued:
            node.queued = entry
            heapq.heappush(self._heap, entry)
            if len(self._heap) > self._most:
                self._drop_invalid()

    def pop(self) -> Node | None:
        """Return the next victim and take it out of the queue; None when no node may be evicted."""
        while self._heap:
            entry = heapq.heappop(self._heap)
            node = entry[-1]
            if node.queued is not entry:
                continue
            node.queued = None
            if node.parent is None or self._protection(node):
                continue
            if entry[:3] < self._key(node):
                self.push(node)
                continue
            return node
        return None

    def _drop_invalid(self) -> None:
        valid: list[_Entry] = []
        for entry in self._heap:
            node = entry[-1]
            if node.queued is entry and node.parent is not None:
                valid.append(entry)
            elif node.queued is entry:
                node.queued = None
        heapq.heapify(valid)
        self._heap = valid
        self._most = max(_FEWEST, 2 * len(valid))
