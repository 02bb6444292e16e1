"""Events of bytes: what owners take and give, and readings of all of them at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class Loaded(Event):
    """A model's weights are in place. Bytes are those of the allocator after loading; `outside` were in use before, by others."""

    kind: ClassVar[str] = "loaded"
    weights: int = 0
    outside: int = 0
    active: int = 0
    pool: int = 0


@dataclass(slots=True)
class Allocated(Event):
    """`owner` (weights, live, snapshots, transient) took `retained` bytes; `node` when a node's snapshot did.

    A long run of the twin may leave out these and `Freed` of snapshots (`Manifest.left_out`): there they follow from the snapshots' own events.
    `call_site` is the Python code that allocated it, when the run records call sites: `FILE:LINE FUNCTION`, then its callers, a line each.
    """

    kind: ClassVar[str] = "allocated"
    owner: str = ""
    node: int = -1
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class Freed(Event):
    """`owner` gave `retained` bytes back to the allocator; `node` when a node's snapshot did."""

    kind: ClassVar[str] = "freed"
    owner: str = ""
    node: int = -1
    retained: int = 0


@dataclass(slots=True)
class PoolCleared(Event):
    """The allocator's free buffers (`pool` bytes) went back to the system."""

    kind: ClassVar[str] = "pool_cleared"
    pool: int = 0


@dataclass(slots=True)
class BytesRead(Event):
    """All owners' bytes at one moment; `phase` is load, begin, prefill, attach, decode, close or unload.

    With source `twin` these are predicted: what the expected policy (`kvlab.lab.twin.expected_policy`) would hold after the same requests.

    Attributes:
        weights: Retained by the weights.
        live_logical: Of the live buffers up to the offset.
        live: Retained by the live buffers: their capacity.
        counted: What the policy's budget sees: of the snapshots what they count, or, under `budget_counts=resident`, what live buffers and snapshots retain.
        paged_out: What the trie's snapshots count, where the budget sees something else; None where it is `counted`.
        snapshots: Retained by the snapshots.
        transient: Retained by consumed merge inputs until the next sweep (`lifetimes=sweep`).
        pool: The allocator's free buffers.
        active: The allocator's own count of bytes in use, less what was `outside` when the weights were loaded.
        unattributed: active - weights - live - snapshots - transient.
        peak: The highest active bytes since the request began.
        budget: The policy's budget.
        nodes: Nodes in the trie, the root included.
        footprint: Of the whole process, as the system reports it (`kvlab.allocator.process_bytes`); read of a real run at load, close and unload, else None.
    """

    kind: ClassVar[str] = "bytes_read"
    phase: str = ""
    weights: int = 0
    live_logical: int = 0
    live: int = 0
    counted: int = 0
    snapshots: int = 0
    transient: int = 0
    pool: int = 0
    active: int = 0
    unattributed: int = 0
    peak: int = 0
    budget: int = 0
    nodes: int = 0
    footprint: int | None = None
    paged_out: int | None = None
