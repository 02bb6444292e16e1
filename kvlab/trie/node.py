"""Node: one edge of the trie and what is kept at its end.

Invariants: `start` = the parent's `end`, `stem` continues the parent's, and the edge has a key for each of its `tokens`; only the root has no parent and an
empty edge; of `only` and `several` at most one is set, and `several` has at least two entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from kvlab.trie.keys import key_at


class Node:
    """A node, identified by `id`. A live one has a parent or is the root.

    Attributes:
        id: Its number; never used again.
        parent: The node above; None for the root and for a node that left the trie.
        only: The node below, when there is just one: most nodes have one, and a dict for it would cost more than the node.
        several: The nodes below by the first key of their edge, when there are more.
        sibling: Another child of the same parent with the same first key: only a damaged trie has one.
        edge: The keys of its tokens, packed.
        start: Token offset at which its edge begins.
        end: Token offset at which it ends.
        stem: CRC-32 of all keys before its edge.
        user: An explicit restore point; it resists compaction, not eviction.
        used: When it was last used, on the cache's own clock.
        active: It is on the active path.
        snapshots: One entry a layer group, None where it has none.
        counted: Bytes its snapshots count for.
        uses: How often it was used.
        queued: Its entry in the eviction queue; None when not queued.
        ranked: What decides when eviction takes it, as last recorded; None when nothing was.
    """

    __slots__ = (
        "active",
        "counted",
        "edge",
        "end",
        "id",
        "only",
        "parent",
        "queued",
        "ranked",
        "several",
        "sibling",
        "snapshots",
        "start",
        "stem",
        "used",
        "user",
        "uses",
    )

    def __init__(self, number: int, parent: Node | None, edge: bytes, end: int) -> None:
        self.id = number
        self.parent = parent
        self.only: Node | None = None
        self.several: dict[int, Node] | None = None
        self.sibling: Node | None = None
        self.edge = edge
        self.start = 0 if parent is None else parent.end
        self.stem = 0 if parent is None else crc32(parent.edge, parent.stem)
        self.end = end
        self.user = False
        # a new node is as recent as what it hangs on, until it is used itself
        self.used = 0 if parent is None else parent.used
        self.uses = 0
        self.active = False
        self.snapshots: list[Any] = []
        self.counted = 0
        self.queued: tuple[float, int, int, int, Node] | None = None
        self.ranked: tuple[str, int, int, float | None, int | None, int | None] | None = None

    @property
    def tokens(self) -> int:
        """Tokens of its edge."""
        return self.end - self.start

    @property
    def children(self) -> Mapping[int, Node]:
        """The nodes below, by the first key of their edge. To look at: `kvlab.trie.children` changes them."""
        if self.several is not None:
            return self.several
        if self.only is None:
            return {}
        return {key_at(self.only.edge, 0, len(self.only.edge) // self.only.tokens): self.only}

    def __repr__(self) -> str:
        return f"Node {self.id} [{self.start}, {self.end})"
