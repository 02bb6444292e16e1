"""The rules of full-attention layers, for any storage (public facts on Ollama's MLX runner: `data/SOURCES.md`).

Invariants:
- Any offset up to the live one can be rewound to; later slots stay in the buffer until a write overwrites them.
- A lazy snapshot is never overwritten: before every write, those the write touches are copied out whole.
- Under `copy_before_overwrite=first_append` only the first write after a restore is looked at (`kvcache.go` at v0.32.5, `rewound`): every restore
  marks the buffers, also one that moves nothing; putting an owned snapshot back is such a write.
- Merged snapshots that do not join hold, and count, more or fewer tokens than their span; a split keeps those that fit the span.
- A snapshot can be restored when the live offset is not before its start.
- Buffers that grow by single tokens have no room: what is beyond the offset is dropped before a write.
"""

from __future__ import annotations

from kvlab.allocator.scope import Scope
from kvlab.layers.registry import SnapshotRegistry
from kvlab.layers.snapshot import Contents, Snapshot
from kvlab.layers.storage import KVStore
from kvlab.policy import Policy


class KVLayers:
    """One group of full-attention layers.

    Attributes:
        kind: kv or draft_kv.
        store: Their live buffers.
        lazies: Snapshots that are still an index into the live buffers.
    """

    rewinds = True
    captures_inside = True

    __slots__ = ("_all_lazy_end", "_eager", "_every_append", "_group", "_registry", "_restored", "kind", "lazies", "store")

    def __init__(self, group: int, store: KVStore, policy: Policy, registry: SnapshotRegistry) -> None:
        self._group = group
        self.store = store
        self.kind = store.group.kind
        self._registry = registry
        self._every_append = policy.copy_before_overwrite == "every_append"
        self._eager = policy.snapshots == "eager"
        self._restored = False
        self._all_lazy_end = 0
        self.lazies: dict[int, Snapshot] = {}

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold."""
        return self.store.offset

    def will_write(self, tokens: int, first: int | None = None) -> None:
        """Get ready for a write at the offset: copy out the lazy snapshots that it would overwrite."""
        if self.store.group.growth_step == 1:
            self.shrink()
        if self._every_append or self._restored:
            self._restored = False
            start = self.store.offset
            if self._all_lazy_end > start:
                at_once = tokens if first is None else first
                self._copy_out(start, start + (max(tokens, at_once) if self._every_append else at_once))

    def wrote(self, tokens: int) -> None:
        """A forward wrote `tokens`."""
        self.store.wrote(tokens)

    def snapshot(self, start: int) -> Snapshot | None:
        """Return a snapshot of [start, offset); None when that is empty."""
        return self.capture(start, self.store.offset)

    def capture(self, start: int, end: int) -> Snapshot | None:
        """Return a snapshot of [start, end); None when that is empty."""
        if start >= end:
            return None
        if self._eager:
            return self._owned(start, end, self.store.copy(start, end))
        return self._lazy(start, end)

    def can_restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Whether `restore` would bring the live buffers to `target`."""
        if snapshot is None:
            return target <= self.store.offset
        return target <= snapshot.end and snapshot.start <= self.store.offset

    def restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Bring the live buffers to `target`: from `snapshot`, or by rewinding. False, with nothing changed, when that cannot be."""
        if not self.can_restore(snapshot, target):
            return False
        self._restored = True
        if snapshot is None or snapshot.state == "lazy":
            self.store.offset = target
        else:
            self.store.offset = snapshot.start
            self.will_write(self.store.tokens(snapshot.data))
            self.store.put(snapshot.data)
            self.store.offset = min(target, self.store.offset)
        return True

    def split(self, snapshot: Snapshot, at: int) -> tuple[Snapshot | None, Snapshot | None]:
        """Cut a snapshot at offset `at`; a side that would be empty is None. The original is closed unless one side is all of it."""
        if at <= snapshot.start:
            return None, snapshot
        if at >= snapshot.end:
            return snapshot, None
        if snapshot.state == "lazy":
            halves = self._lazy(snapshot.start, at), self._lazy(at, snapshot.end)
        else:
            with Scope(f"split of {snapshot!r} at {at}") as scope:
                first, second = (scope.hold(part) for part in self.store.cut(snapshot.data, at - snapshot.start, snapshot.end - snapshot.start))
                halves = self._owned(snapshot.start, at, scope.keep(first)), self._owned(at, snapshot.end, scope.keep(second))
        self._consume(snapshot)
        return halves

    def merge(self, first: Snapshot | None, second: Snapshot | None) -> Snapshot | None:
        """Join two snapshots and close both; None when either is missing. Two adjacent lazy ones stay lazy."""
        if first is None or second is None:
            for one in (first, second):
                if one is not None:
                    self.close(one)
            return None
        if first.state == second.state == "lazy" and first.end == second.start:
            joined = self._lazy(first.start, second.end)
        else:
            for one in (first, second):
                self._own(one)
            with Scope(f"merge of {first!r} and {second!r}") as scope:
                data = scope.hold(self.store.join(first.data, second.data))
                joined = self._owned(first.start, second.end, scope.keep(data))
        self._consume(first)
        self._consume(second)
        return joined

    def close(self, snapshot: Snapshot) -> None:
        """End a snapshot."""
        self.lazies.pop(snapshot.id, None)
        self._registry.close(snapshot)

    def shrink(self) -> None:
        """Give back the room beyond the offset; lazy snapshots there are copied out first."""
        if self.store.capacity > self.store.offset:
            self._copy_out(self.store.offset, self.store.capacity)
            self.store.shrink()

    def take_back(self, offset: int) -> None:
        """Undo a forward that began at `offset` and was interrupted, perhaps with some layers written and others not."""
        self.store.offset = offset
        self._restored = True

    def shared(self) -> int:
        """Owned copies share nothing."""
        return 0

    shared_resident = shared

    def free(self) -> None:
        """Let the live buffers go. Lazy snapshots are copied out first, so their bytes move and are not released."""
        for snapshot in list(self.lazies.values()):
            self._own(snapshot)
        self.store.drop()
        self._restored = False

    def _consume(self, snapshot: Snapshot) -> None:
        self.lazies.pop(snapshot.id, None)
        self._registry.consume(snapshot)

    def _copy_out(self, start: int, end: int) -> None:
        for snapshot in [one for one in self.lazies.values() if one.start < end and one.end > start]:
            self._own(snapshot)
        self._all_lazy_end = max((one.end for one in self.lazies.values()), default=0)

    def _own(self, snapshot: Snapshot) -> None:
        if snapshot.state == "lazy":
            # It stays lazy until its copy is there: an interrupted copy is made again before the next write.
            data = self.store.copy(snapshot.start, snapshot.end)
            self._registry.own(snapshot, self._contents(data))
            del self.lazies[snapshot.id]

    def _lazy(self, start: int, end: int) -> Snapshot:
        snapshot = self._registry.take_lazy(self._group, self.kind, start, end)
        self.lazies[snapshot.id] = snapshot
        self._all_lazy_end = max(self._all_lazy_end, end)
        return snapshot

    def _owned(self, start: int, end: int, data: object) -> Snapshot:
        return self._registry.take(self._group, self.kind, start, end, self._contents(data))

    def _contents(self, data: object) -> Contents:
        return Contents(data, self.store.tokens(data) * self.store.group.bytes_per_token, self.store.retained(data))
