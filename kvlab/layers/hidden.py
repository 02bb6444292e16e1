"""The rules of a hidden-state cache: what the backbone returned for each token, kept for heads that read earlier tokens (`hidden.go`, main).

Invariants:
- Arrays are immutable: an append builds a new one of all rows, so no snapshot is ever overwritten and none is lazy.
- A snapshot is a slice, and counts the whole array behind it: a few rows may keep a whole prompt's alive. What several share is counted for
  each of them, and retained once.
- A snapshot covers its node's edge. Any offset up to the live one can be rewound to; going back to 0 lets the live array go.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kvlab.layers.registry import SnapshotRegistry
from kvlab.layers.snapshot import Contents, Snapshot
from kvlab.layers.spans_hidden import Rows, SpanHiddenStore


class HiddenLayers:
    """One group of hidden-state caches.

    Attributes:
        kind: hidden.
        store: Their live rows.
        lazies: None ever.
        views: Their snapshots, by id.
    """

    rewinds = True
    captures_inside = True
    lazies: Mapping[int, Snapshot] = MappingProxyType({})

    __slots__ = ("_group", "_registry", "kind", "store", "views")

    def __init__(self, group: int, store: SpanHiddenStore, registry: SnapshotRegistry) -> None:
        self._group = group
        self.store = store
        self.kind = store.group.kind
        self._registry = registry
        self.views: dict[int, Snapshot] = {}

    @property
    def offset(self) -> int:
        """Tokens the live rows hold."""
        return self.store.offset

    def will_write(self, tokens: int, first: int | None = None) -> None:
        """Note how far one append goes: a forward that upstream's runner does not cut makes one array."""
        self.store.expect(self.store.offset + max(tokens, first or 0))

    def wrote(self, tokens: int) -> None:
        """A forward wrote `tokens`."""
        self.store.wrote(tokens)

    def snapshot(self, start: int) -> Snapshot | None:
        """Return a snapshot of [start, offset); None when that is empty."""
        return self.capture(start, self.store.offset)

    def capture(self, start: int, end: int) -> Snapshot | None:
        """Return a snapshot of [start, end); None when that is empty."""
        return self._view(start, self.store.cut(start, end)) if start < end else None

    def can_restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Whether `restore` would bring the live rows to `target`."""
        return target <= self.store.offset or (snapshot is not None and snapshot.start <= self.store.offset and target <= snapshot.end)

    def restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Bring the live rows to `target`: by a slice of them, or with rows of `snapshot`. False, with nothing changed, when that cannot be."""
        if not self.can_restore(snapshot, target):
            return False
        if target == 0:
            self.store.drop()
        elif target <= self.store.offset:
            self.store.rewind(target)
        elif snapshot is not None:
            self.store.put(self.store.cut(self.store.offset - snapshot.start, target - snapshot.start, snapshot.data))
        return True

    def split(self, snapshot: Snapshot, at: int) -> tuple[Snapshot | None, Snapshot | None]:
        """Cut a snapshot at offset `at` into two slices of its array; a side that would be empty is None."""
        if at <= snapshot.start:
            return None, snapshot
        if at >= snapshot.end:
            return snapshot, None
        rows = at - snapshot.start
        halves = self.store.cut(0, rows, snapshot.data), self.store.cut(rows, snapshot.end - snapshot.start, snapshot.data)
        found = self._view(snapshot.start, halves[0]), self._view(at, halves[1])
        self.close(snapshot)
        return found

    def merge(self, first: Snapshot | None, second: Snapshot | None) -> Snapshot | None:
        """Join two snapshots in a new array and close both; None when either is missing."""
        found = None
        if first is not None and second is not None:
            found = self._view(first.start, self.store.join(first.data, second.data))
        for one in (first, second):
            if one is not None:
                self.close(one)
        return found

    def close(self, snapshot: Snapshot) -> None:
        """End a snapshot."""
        self.views.pop(snapshot.id, None)
        self._registry.close(snapshot)

    def shrink(self) -> None:
        """An immutable array has no room to give back."""

    def take_back(self, offset: int) -> None:
        """Undo a forward that began at `offset` and was interrupted."""
        self.restore(None, offset)

    def shared(self) -> int:
        """Return the bytes that snapshots share with the live array or with each other: counted once too often in the sum of all."""
        return self.store.shared([snapshot.data for snapshot in self.views.values()])

    shared_resident = shared

    def free(self) -> None:
        """Let the live rows go; snapshots keep their arrays."""
        self.store.drop()

    def _view(self, start: int, rows: Rows) -> Snapshot:
        size = self.store.retained(rows)
        contents = Contents(rows, size, size, is_view=True)
        snapshot = self._registry.take(self._group, self.kind, start, start + self.store.tokens(rows), contents)
        self.views[snapshot.id] = snapshot
        return snapshot
