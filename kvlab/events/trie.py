"""Events of the trie: its nodes, its active path, and what eviction takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class NodeBorn(Event):
    """A node was added below `parent` with edge [start, end); `user` marks an explicit restore point. The root is node 0."""

    kind: ClassVar[str] = "node_born"
    node: int = 0
    parent: int = -1
    start: int = 0
    end: int = 0
    user: bool = False


@dataclass(slots=True)
class NodeSplit(Event):
    """`node` was cut at offset `end`: the new node `head` took [start, end), `node` keeps the rest, its children and its user flag."""

    kind: ClassVar[str] = "node_split"
    node: int = 0
    head: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class NodeMerged(Event):
    """`node` took over the edge of its parent `head`, which is gone; `node` now spans [start, end)."""

    kind: ClassVar[str] = "node_merged"
    node: int = 0
    head: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class NodeRemoved(Event):
    """A leaf left the trie."""

    kind: ClassVar[str] = "node_removed"
    node: int = 0


@dataclass(slots=True)
class FrontierMoved(Event):
    """The active path now ends at `node`; its nodes are `node` and all its ancestors."""

    kind: ClassVar[str] = "frontier_moved"
    node: int = 0


@dataclass(slots=True)
class NodeRanked(Event):
    """What decides when eviction takes `node`, as it is from now on; emitted when it changes.

    Nodes that are not protected go in the rising order of `first`, `second`, `third` and `node`: what these are follows from the policy's `evict_order`.
    They are None in the store of whole entries, where the order depends on how many entries of each kind there are.

    Attributes:
        protection: Why eviction does not take it, one of `PROTECTIONS`; "" when it may.
        used: When it was last used, on the cache's own clock, which counts uses; a new node begins as recent as its parent.
        uses: How often it was used.
    """

    kind: ClassVar[str] = "node_ranked"
    node: int = 0
    protection: str = ""
    used: int = 0
    uses: int = 0
    first: float | None = None
    second: float | None = None
    third: float | None = None


PROTECTIONS = {
    "root": "it is the root",
    "branch": "more than one branch hangs on it",
    "frontier": "it is the frontier",
    "active_path": "it is on the active path",
    "no_entry": "it is a branch point, no entry",
}
"""Why eviction does not take a node, in words."""


@dataclass(slots=True)
class Evicted(Event):
    """Eviction took `node` with edge [start, end): a `leaf` was removed, an `interior` node merged into its child. `freed` counted bytes went.

    `reason` is the limit that was passed: the `budget`, or the number of `entries` (`store_entries`).
    """

    kind: ClassVar[str] = "evicted"
    node: int = 0
    start: int = 0
    end: int = 0
    state: str = "leaf"
    freed: int = 0
    reason: str = "budget"
