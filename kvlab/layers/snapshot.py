"""Snapshot: what one layer group keeps of a span of tokens.

Invariants: `lazy` holds no data and counts 0 bytes; `owned` holds its own copy and counts its logical bytes;
a closed snapshot holds nothing and is never used again.
"""

from __future__ import annotations

from typing import Any

from kvlab.allocator.scope import Held, Scope
from kvlab.trie.node import Node


class Snapshot:
    """A snapshot of layer group `group` over tokens [start, end).

    Attributes:
        id: Its number; never used again.
        state: lazy, owned, view or closed.
        counted: Bytes the budget sees.
        retained: Bytes of the buffers it keeps alive.
        node: The node that carries it; None until placed.
        scope: What its arrays live in.
    """

    __slots__ = ("_data", "counted", "end", "group", "id", "node", "retained", "scope", "start", "state")

    def __init__(self, number: int, group: int, start: int, end: int, state: str) -> None:
        self.id = number
        self.group = group
        self.start = start
        self.end = end
        self.state = state
        self.scope = Scope(f"snapshot {number} [{start}, {end})")
        self._data: Held[Any] | None = None
        self.counted = 0
        self.retained = 0
        self.node: Node | None = None

    @property
    def data(self) -> Any:
        """What the store copied; None while lazy.

        Raises:
            ScopeEnded: the snapshot is closed.
        """
        return None if self._data is None else self._data.value

    def fill(self, data: Any) -> None:
        """Hold what the store copied."""
        self._data = self.scope.hold(data)

    def __repr__(self) -> str:
        return f"Snapshot {self.id} [{self.start}, {self.end}) {self.state}"
