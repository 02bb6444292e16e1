"""Snapshot: what one layer group keeps of a span of tokens.

Invariants: `lazy` holds no data and counts 0 bytes; `owned` holds its own copy and counts its logical bytes;
a closed snapshot holds nothing and is never used again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.allocator.scope import Held, Scope
from kvlab.trie.node import Node


@dataclass(frozen=True, slots=True)
class Contents:
    """What a store copied for a snapshot, or handed out.

    Attributes:
        data: It, in the store's own form.
        counted: Bytes the budget sees.
        retained: Bytes of the buffers it keeps alive, as an allocator rounds them.
        is_view: It shares a bigger buffer.
        pinned: Bytes of that buffer beyond `counted`, by the shape's prices.
    """

    data: Any
    counted: int
    retained: int
    is_view: bool = False
    pinned: int = 0


class Snapshot:
    """A snapshot of layer group `group` over tokens [start, end), lazy until it is filled.

    Attributes:
        id: Its number; never used again.
        state: lazy, owned, view or closed.
        counted: Bytes the budget sees.
        retained: Bytes of the buffers it keeps alive.
        resident: The same by the shape's prices: what no allocator rounds.
        node: The node that carries it; None until placed.
        scope: What its arrays live in.
    """

    __slots__ = ("_data", "counted", "end", "group", "id", "node", "resident", "retained", "scope", "start", "state")

    def __init__(self, number: int, group: int, start: int, end: int) -> None:
        self.id = number
        self.group = group
        self.start = start
        self.end = end
        self.state = "lazy"
        self.scope = Scope(f"snapshot {number} [{start}, {end})")
        self._data: Held[Any] | None = None
        self.counted = 0
        self.retained = 0
        self.resident = 0
        self.node: Node | None = None

    @property
    def data(self) -> Any:
        """What the store copied; None while lazy.

        Raises:
            ScopeEnded: the snapshot is closed.
        """
        return None if self._data is None else self._data.value

    def fill(self, contents: Contents) -> None:
        """Hold what the store copied or handed out: the snapshot is owned, or a view."""
        self._data = self.scope.hold(contents.data)
        self.state = "view" if contents.is_view else "owned"
        self.counted, self.retained = contents.counted, contents.retained
        self.resident = contents.counted + contents.pinned

    def __repr__(self) -> str:
        return f"Snapshot {self.id} [{self.start}, {self.end}) {self.state}"
