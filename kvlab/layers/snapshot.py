"""Snapshot: what one layer group keeps of a span of tokens.

Invariants: `lazy` holds no data and counts 0 bytes; `owned` holds its own copy and counts its logical bytes;
a closed snapshot holds nothing and is never used again.
"""

from __future__ import annotations

from typing import Any

from kvlab.trie.node import Node


class Snapshot:
    """A snapshot of layer group `group` over tokens [start, end).

    Attributes:
        id: Its number; never used again.
        state: lazy, owned, view or closed.
        data: What the store copied; None while lazy.
        counted: Bytes the budget sees.
        retained: Bytes of the buffers it keeps alive.
        node: The node that carries it; None until placed.
    """

    __slots__ = ("counted", "data", "end", "group", "id", "node", "retained", "start", "state")

    def __init__(self, number: int, group: int, start: int, end: int, state: str) -> None:
        self.id = number
        self.group = group
        self.start = start
        self.end = end
        self.state = state
        self.data: Any = None
        self.counted = 0
        self.retained = 0
        self.node: Node | None = None

    def __repr__(self) -> str:
        return f"Snapshot {self.id} [{self.start}, {self.end}) {self.state}"
