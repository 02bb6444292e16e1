"""SnapshotRegistry: every snapshot from creation to close, and the bytes they count for.

Invariants: created - closed = open; `counted` = the sum over placed snapshots; no snapshot is closed twice.
"""

from __future__ import annotations

from collections.abc import Callable

from kvlab.allocator import Ledger
from kvlab.allocator.scope import Scope
from kvlab.events import Event, SnapshotClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken
from kvlab.layers.snapshot import Contents, Snapshot
from kvlab.trie.node import Node

UNPLACED = -1
"""The node of a snapshot that is on no node."""


class SnapshotRegistry:
    """Opens, places and closes snapshots, and keeps their bytes.

    Attributes:
        created: Snapshots ever opened.
        open: Snapshots not yet closed.
        counted: Bytes that placed snapshots count for.
        resident: Bytes that all open snapshots keep alive, by the shape's prices.
        on_growth: Called with a node whose counted bytes grew.
        on_loss: Called with a node whose counted bytes became fewer.
    """

    __slots__ = ("_emit", "_ledger", "_sweeps", "_until_sweep", "counted", "created", "on_growth", "on_loss", "open", "resident")

    def __init__(self, ledger: Ledger, emit: Callable[[Event], None], *, sweeps: bool = False) -> None:
        self._ledger = ledger
        self._emit = emit
        self._sweeps = sweeps
        self._until_sweep = Scope("until the next sweep")
        self.created = 0
        self.open = 0
        self.counted = 0
        self.resident = 0
        self.on_growth: Callable[[Node], None] = _nothing
        self.on_loss: Callable[[Node], None] = _nothing

    def take_lazy(self, group: int, kind: str, start: int, end: int) -> Snapshot:
        """Open a lazy snapshot: an index into the live buffer, 0 bytes."""
        snapshot = self._opened(group, start, end)
        self._emit(SnapshotTaken(snapshot=snapshot.id, group=group, layer=kind, start=start, end=end, state="lazy"))
        return snapshot

    def take(self, group: int, kind: str, start: int, end: int, contents: Contents) -> Snapshot:
        """Open a snapshot that holds `contents`: `owned`, or a `view` of a bigger buffer."""
        snapshot = self._opened(group, start, end)
        snapshot.fill(contents)
        self.resident += snapshot.resident
        counted, retained = snapshot.counted, snapshot.retained
        self._emit(SnapshotTaken(snapshot=snapshot.id, group=group, layer=kind, start=start, end=end, state=snapshot.state, counted=counted, retained=retained))
        self._ledger.take_snapshot(UNPLACED, retained)
        return snapshot

    def own(self, snapshot: Snapshot, contents: Contents) -> None:
        """Turn a lazy snapshot into an owned one; its node's bytes grow."""
        snapshot.fill(contents)
        self.resident += snapshot.resident
        self._emit(SnapshotOwned(snapshot=snapshot.id, counted=snapshot.counted, retained=snapshot.retained))
        node = snapshot.node
        self._ledger.take_snapshot(_place(node), snapshot.retained)
        if node is not None:
            node.counted += snapshot.counted
            self.counted += snapshot.counted
            self.on_growth(node)

    def place(self, snapshot: Snapshot, node: Node) -> None:
        """Install a snapshot on a node: from now on it counts."""
        self._ledger.move_snapshot(UNPLACED, node.id, snapshot.retained)
        snapshot.node = node
        node.snapshots[snapshot.group] = snapshot
        node.counted += snapshot.counted
        self.counted += snapshot.counted
        self._emit(SnapshotPlaced(snapshot=snapshot.id, node=node.id))
        if snapshot.counted:
            self.on_growth(node)

    def lift(self, snapshot: Snapshot) -> None:
        """Take a snapshot off its node, if it is on one: it no longer counts."""
        node = snapshot.node
        if node is not None:
            self._ledger.move_snapshot(node.id, UNPLACED, snapshot.retained)
            self._off(snapshot, node)

    def close(self, snapshot: Snapshot) -> None:
        """Lift and close a snapshot; its data is freed."""
        if snapshot.state == "closed":
            msg = f"{snapshot!r} was closed before"
            raise ValueError(msg)
        node = snapshot.node
        if snapshot.state != "lazy":
            self._ledger.free_snapshot(_place(node), snapshot.retained)
        if node is not None:
            self._off(snapshot, node)
        snapshot.scope.end()
        counted, retained = snapshot.counted, snapshot.retained
        self.resident -= snapshot.resident
        snapshot.state, snapshot.counted, snapshot.retained, snapshot.resident = "closed", 0, 0, 0
        self.open -= 1
        self._emit(SnapshotClosed(snapshot=snapshot.id, counted=counted, retained=retained))

    def consume(self, snapshot: Snapshot) -> None:
        """End a snapshot whose data went into another one. Under `lifetimes=sweep` its buffers stay until the next sweep."""
        if self._sweeps and snapshot.state != "lazy":
            self._until_sweep.hold(snapshot.data)
            self._ledger.hold(snapshot.retained)
        self.close(snapshot)

    def sweep(self) -> None:
        """Free the buffers that were only waiting for a sweep."""
        if self._ledger.transient:
            self._until_sweep.end()
            self._until_sweep = Scope("until the next sweep")
            self._ledger.sweep()

    def _off(self, snapshot: Snapshot, node: Node) -> None:
        snapshot.node = None
        node.snapshots[snapshot.group] = None
        node.counted -= snapshot.counted
        self.counted -= snapshot.counted
        if snapshot.counted:
            self.on_loss(node)

    def _opened(self, group: int, start: int, end: int) -> Snapshot:
        self.created += 1
        self.open += 1
        return Snapshot(self.created, group, start, end)


def _place(node: Node | None) -> int:
    return UNPLACED if node is None else node.id


def _nothing(node: Node) -> None:
    del node
