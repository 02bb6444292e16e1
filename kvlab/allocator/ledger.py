"""Ledger: the bytes each owner retains, compared with the allocator's own count.

Owners are `weights`, `live` (live buffers) and `snapshots` (of the trie's nodes); the `pool` is the allocator's own.
What the process had in use before (`outside`: another model, a user's arrays) is read once and subtracted from `active` and `peak` from then on.
Invariant: unattributed = active - weights - live - snapshots - transient, and each owner's bytes are the sum of what it took less what it gave.
"""

from __future__ import annotations

from collections.abc import Callable

from kvlab.allocator.meter import Meter
from kvlab.events import MOVES, READINGS, Allocated, BytesRead, Event, Freed, Loaded, PoolCleared

AT_REST = ("load", "close", "unload")
"""Phases at which the process's footprint is read: once a request, as the system takes up to some milliseconds to report it."""


def _all(topic: str) -> bool:
    del topic
    return True


class Ledger:
    """Keeps every owner's retained bytes and records each change.

    Attributes:
        weights: Bytes the weights' buffers retain.
        live: Bytes the live buffers retain, as last seen.
        snapshots: Bytes all snapshots retain.
        shared: Bytes of snapshots that the live buffers or another snapshot hold too.
        transient: Bytes of consumed merge inputs that wait for a sweep.
        outside: Bytes in use in this process, by others, when the weights were taken in.
        peak: The allocator's highest active bytes since the last `reset_peak`, as last read.
        unattributed: Bytes in use that no owner retains, as last measured; 0 while nothing was.
        wants: Whether events on a topic are recorded (`kvlab.events.TOPICS`).
    """

    __slots__ = ("_emit", "_meter", "live", "outside", "peak", "shared", "snapshots", "transient", "unattributed", "wants", "weights")

    def __init__(self, meter: Meter, emit: Callable[[Event], None], wants: Callable[[str], bool] = _all) -> None:
        self._meter = meter
        self._emit = emit
        self.wants = wants
        self.weights = 0
        self.live = 0
        self.snapshots = 0
        self.shared = 0
        self.transient = 0
        self.outside = 0
        self.peak = 0
        self.unattributed = 0

    @property
    def retained(self) -> int:
        """Bytes that all owners retain together."""
        return self.weights + self.live + self.snapshots - self.shared + self.transient

    def load(self, *, clear_pool: bool) -> None:
        """Record the loaded weights; clear the pool when the policy says so."""
        self.weights = self._meter.weights()
        self._emit(Allocated(owner="weights", retained=self.weights))
        if clear_pool:
            self.clear_pool()
        reading = self._meter.read(self.retained)
        self.outside = reading.active - self.weights
        self._emit(Loaded(weights=self.weights, outside=self.outside, active=reading.active, pool=reading.pool))

    def unload(self) -> None:
        """The weights were freed."""
        self._emit(Freed(owner="weights", retained=self.weights))
        self.weights = 0

    def see_live(self, retained: int) -> None:
        """Note what the live buffers retain now."""
        grown = retained - self.live
        if grown > 0:
            self._emit(Allocated(owner="live", retained=grown))
        elif grown < 0:
            self._emit(Freed(owner="live", retained=-grown))
        self.live = retained

    def take_snapshot(self, node: int, retained: int) -> None:
        """A snapshot of `node` (-1: not placed yet) took bytes."""
        self.snapshots += retained
        if self.wants(MOVES):
            self._emit(Allocated(owner="snapshots", node=node, retained=retained))

    def free_snapshot(self, node: int, retained: int) -> None:
        """A snapshot of `node` gave its bytes back."""
        self.snapshots -= retained
        if self.wants(MOVES):
            self._emit(Freed(owner="snapshots", node=node, retained=retained))

    def move_snapshot(self, source: int, target: int, retained: int) -> None:
        """A snapshot's bytes went from one node to another (-1: none); the sums by node follow, no byte was allocated."""
        if retained and self.wants(MOVES):
            self._emit(Freed(owner="snapshots", node=source, retained=retained))
            self._emit(Allocated(owner="snapshots", node=target, retained=retained))

    def hold(self, retained: int) -> None:
        """A consumed snapshot's buffers stay until the next sweep."""
        self.transient += retained
        self._emit(Allocated(owner="transient", retained=retained))

    def sweep(self) -> None:
        """All consumed buffers were freed."""
        self._emit(Freed(owner="transient", retained=self.transient))
        self.transient = 0

    def clear_pool(self) -> None:
        """Give the allocator's free buffers back to the system."""
        if given := self._meter.clear_pool():
            self._emit(PoolCleared(pool=given))

    def reset_peak(self) -> None:
        """Begin a new peak."""
        self._meter.reset_peak()

    def read(self, phase: str, *, live_logical: int, counted: int, budget: int, nodes: int, paged_out: int | None = None) -> BytesRead:
        """Record and return every owner's bytes at this moment; `paged_out` where the budget counts something else."""
        reading = self._meter.read(self.retained)
        active = reading.active - self.outside
        self.peak = reading.peak - self.outside
        unattributed = active - self.retained
        self.unattributed = unattributed if self._meter.measures else 0
        event = BytesRead(
            phase=phase,
            weights=self.weights,
            live_logical=live_logical,
            live=self.live,
            counted=counted,
            snapshots=self.snapshots - self.shared,
            transient=self.transient,
            pool=reading.pool,
            active=active,
            unattributed=unattributed,
            peak=self.peak,
            budget=budget,
            nodes=nodes,
            footprint=self._meter.footprint() if phase in AT_REST else None,
            paged_out=paged_out,
        )
        if phase != "prefill" or self.wants(READINGS):
            self._emit(event)
        return event
