"""The rules of layers that keep a whole state: recurrent layers and sliding windows, for any storage.

Invariants:
- A snapshot is the whole state at its `end`; it is useful only there (some windows also before: `kvlab.layers.reach`), so it belongs to a node's end.
- It is owned from the start and counts its full size; a merge keeps the child's, a split leaves it with the tail.
- A live recurrent state can be resumed only where it rests; a live window can be rewound as far as its rows reach.
"""

from __future__ import annotations

from kvlab.layers.book import Book
from kvlab.layers.reach import goes_back
from kvlab.layers.snapshot import Contents, Snapshot
from kvlab.layers.storage import StateStore
from kvlab.policy import Policy


class StateLayers:
    """One group of whole-state layers.

    Attributes:
        kind: recurrent or rotating.
        store: Their live state.
        lazies: Always empty: nothing of a whole state is lazy.
        views: Snapshots that hold what the model handed out, by id (`capture_as=view`).
    """

    rewinds = False

    __slots__ = ("_as_view", "_book", "_group", "kind", "lazies", "store", "views")

    def __init__(self, group: int, store: StateStore, policy: Policy, book: Book) -> None:
        self._group = group
        self.store = store
        self.kind = store.group.kind
        self._book = book
        self._as_view = policy.capture_as == "view"
        self.lazies: dict[int, Snapshot] = {}
        self.views: dict[int, Snapshot] = {}

    @property
    def offset(self) -> int:
        """Tokens the live state has seen."""
        return self.store.offset

    def will_write(self, tokens: int) -> None:
        """Nothing is overwritten: snapshots are owned."""

    def wrote(self, tokens: int) -> None:
        """A forward wrote `tokens`."""
        self.store.wrote(tokens)

    def snapshot(self, start: int) -> Snapshot | None:
        """Return a snapshot of the state at the offset; None before the first token."""
        del start
        offset = self.store.offset
        if offset == 0:
            return None
        data = self.store.hand_out() if self._as_view else self.store.copy()
        contents = Contents(data, self.store.counted(data), self.store.retained(data), is_view=self._as_view)
        snapshot = self._book.take(self._group, self.kind, self.store.first, offset, contents)
        if self._as_view:
            self.views[snapshot.id] = snapshot
        return snapshot

    def can_restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Whether `restore` would bring the live state to `target`."""
        if snapshot is None:
            return target == self.store.offset or self.store.can_rewind(target)
        return target == snapshot.end or goes_back(self.store.group, snapshot.start, snapshot.end, target)

    def restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Bring the live state to `target`. False, with nothing changed, when that cannot be."""
        if not self.can_restore(snapshot, target):
            return False
        if snapshot is not None:
            self.store.put(snapshot.data, snapshot.end)
        if target < self.store.offset:
            self.store.rewind(target)
        return True

    def split(self, snapshot: Snapshot, at: int) -> tuple[Snapshot | None, Snapshot | None]:
        """A whole state stays with the tail, at whose end it rests."""
        del at
        return None, snapshot

    def merge(self, first: Snapshot | None, second: Snapshot | None) -> Snapshot | None:
        """Keep the child's state, close the parent's."""
        if first is not None:
            self.close(first)
        return second

    def close(self, snapshot: Snapshot) -> None:
        """End a snapshot."""
        self.views.pop(snapshot.id, None)
        self._book.close(snapshot)

    def shared(self) -> int:
        """Return the bytes that views share with the live state or with each other: counted once too often in the sum of all."""
        return self.store.shared([snapshot.data for snapshot in self.views.values()]) if self.views else 0

    def shrink(self) -> None:
        """A whole state has no room to give back."""

    def take_back(self, offset: int) -> None:
        """Undo an interrupted forward: a state that moved on cannot go back, so it is let go."""
        del offset
        self.store.drop()

    def free(self) -> None:
        """Let the live state go."""
        self.store.drop()
