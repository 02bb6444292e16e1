"""Events of snapshots and live buffers: captures scheduled and made, each snapshot's lifetime, copies between nodes and live buffers, and their room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class Scheduled(Event):
    """A capture was scheduled at offset `end`; `user` marks an explicit restore point."""

    kind: ClassVar[str] = "scheduled"
    end: int = 0
    user: bool = False


@dataclass(slots=True)
class Captured(Event):
    """All layers were captured at offset `end`."""

    kind: ClassVar[str] = "captured"
    end: int = 0


@dataclass(slots=True)
class SnapshotTaken(Event):
    """A snapshot of layer group `group` began to exist over [start, end).

    `state` is lazy (0 bytes, an index into the live buffer), owned or view; `counted` and `retained` are its bytes; `call_site` as in `Allocated`.
    """

    kind: ClassVar[str] = "snapshot_taken"
    snapshot: int = 0
    group: int = 0
    layer: str = ""
    start: int = 0
    end: int = 0
    state: str = "lazy"
    counted: int = 0
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class SnapshotPlaced(Event):
    """A snapshot was installed on a node."""

    kind: ClassVar[str] = "snapshot_placed"
    snapshot: int = 0
    node: int = 0


@dataclass(slots=True)
class SnapshotOwned(Event):
    """A lazy snapshot was copied out of the live buffer and now owns its bytes; `call_site` as in `Allocated`."""

    kind: ClassVar[str] = "snapshot_owned"
    snapshot: int = 0
    counted: int = 0
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class SnapshotClosed(Event):
    """A snapshot ceased to exist; `counted` and `retained` are the bytes that it had."""

    kind: ClassVar[str] = "snapshot_closed"
    snapshot: int = 0
    counted: int = 0
    retained: int = 0


@dataclass(slots=True)
class BufferChanged(Event):
    """The live buffers of layer group `group` have another size, or moved otherwise than `Matched`, `ChunkRan` and `TokenOut` say of all but draft layers.

    Attributes:
        offset: Tokens they have seen.
        start: The first position they hold. When the offset moves on, as later events say, they hold [max(start, offset - capacity), offset).
        capacity: Tokens they have room for; 0 of a recurrent state.
        retained: Bytes they retain.
        before: Bytes they retained before.
    """

    kind: ClassVar[str] = "buffer_changed"
    group: int = 0
    layer: str = ""
    offset: int = 0
    start: int = 0
    capacity: int = 0
    retained: int = 0
    before: int = 0


@dataclass(slots=True)
class PagedIn(Event):
    """The live buffers were restored to `end` from `node`, which begins at `start`."""

    kind: ClassVar[str] = "paged_in"
    node: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class PagedOut(Event):
    """The layers that `node` lacked were captured at its end.

    `state` is what a whole entry holds: a prompt up to its system's or user's segment, or a whole request (assistant); "" in the trie's store.
    """

    kind: ClassVar[str] = "paged_out"
    node: int = 0
    start: int = 0
    end: int = 0
    state: str = ""
