"""The rules of layers that keep a whole state: recurrent layers and sliding windows, for any storage.

Invariants (`recurrent.go` and `rotating.go` of Ollama's MLX runner, v0.30.7 to main):
- A snapshot is the whole state at its `end`; it is useful only there (some windows also before: `kvlab.layers.reach`), so it belongs to a node's end.
- A snapshot of the live state is owned and counts its full size: of a window all rows its buffer holds, up to window - 1 + n right after a forward of n tokens.
- A capture of a sliding window inside a forward of several tokens is lazy (`snapshots=lazy`): the forward left its rows in the buffer, in order.
  Before the buffer changes, all lazy ones are copied out; one that is restored while lazy stays so.
- A merge keeps the child's, a split leaves it with the tail.
- Under `draft_states=slices` the live recurrent state after speculative decoding, and its snapshot, are slices of all the round's states.
- A live recurrent state can be resumed only where it rests; a live window can be rewound as far as its rows reach.
"""

from __future__ import annotations

from kvlab.layers.reach import goes_back
from kvlab.layers.registry import SnapshotRegistry
from kvlab.layers.snapshot import Contents, Snapshot
from kvlab.layers.storage import StateStore
from kvlab.policy import Policy


class StateLayers:
    """One group of whole-state layers.

    Attributes:
        kind: recurrent or rotating.
        store: Their live state.
        captures_inside: A sliding window's rows stay in order after a forward, so a capture need not end one.
        lazies: Snapshots that are still rows of the live buffer, by id.
        views: Snapshots that hold what the model handed out, by id (`capture_as=view`).
    """

    rewinds = False

    __slots__ = ("_as_view", "_compacts", "_group", "_in_order", "_registry", "captures_inside", "kind", "lazies", "store", "views")

    def __init__(self, group: int, store: StateStore, policy: Policy, registry: SnapshotRegistry) -> None:
        self._group = group
        self.store = store
        self.kind = store.group.kind
        self._registry = registry
        self._as_view = policy.capture_as == "view" and not store.group.window
        self._compacts = policy.draft_states == "compact"
        self._in_order = False
        self.captures_inside = policy.snapshots == "lazy" and store.group.window > 0 and not store.group.chunked
        self.lazies: dict[int, Snapshot] = {}
        self.views: dict[int, Snapshot] = {}

    @property
    def offset(self) -> int:
        """Tokens the live state has seen."""
        return self.store.offset

    def will_write(self, tokens: int, first: int | None = None) -> None:
        """Get ready for a write: rows of the live buffer move, so lazy snapshots are copied out."""
        self._in_order = min(tokens, first or tokens) > 1
        self._own_lazies()

    def wrote(self, tokens: int) -> None:
        """A forward wrote `tokens`."""
        self.store.wrote(tokens)

    def snapshot(self, start: int) -> Snapshot | None:
        """Return a snapshot of the state at the offset; None before the first token."""
        del start
        offset = self.store.offset
        if offset == 0:
            return None
        if self._compacts:
            self.store.detach()
        as_view = self._as_view or self.store.is_slice
        data = self.store.hand_out() if as_view else self.store.copy()
        snapshot = self._registry.take(self._group, self.kind, self.store.first, offset, self._contents(data, is_view=as_view))
        if as_view:
            self.views[snapshot.id] = snapshot
        return snapshot

    def capture(self, start: int, end: int) -> Snapshot | None:
        """Return a snapshot of the state at `end`: lazy where a forward of several tokens left the window's rows in order."""
        if not (self.captures_inside and self._in_order):
            return self.snapshot(start)
        snapshot = self._registry.take_lazy(self._group, self.kind, max(0, end - self.store.group.window), end)
        self.lazies[snapshot.id] = snapshot
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
            self._own_lazies(but=snapshot)
            if snapshot.state == "lazy":
                self.store.narrow(snapshot.end)
            else:
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
        self.lazies.pop(snapshot.id, None)
        self.views.pop(snapshot.id, None)
        self._registry.close(snapshot)

    def shared(self) -> int:
        """Return the bytes that views share with the live state or with each other: counted once too often in the sum of all."""
        return self.store.shared([snapshot.data for snapshot in self.views.values()]) if self.views else 0

    def shared_resident(self) -> int:
        """Return the bytes that slices of one round's states share; any other view is priced by itself."""
        return self.shared() if self.store.is_slice else 0

    def shrink(self) -> None:
        """A whole state has no room to give back."""

    def take_back(self, offset: int) -> None:
        """Undo an interrupted forward: a state that moved on cannot rewind, so it is freed."""
        del offset
        self.store.drop()

    def free(self) -> None:
        """Let the live state go. Lazy snapshots are copied out first, so their bytes move and are not released."""
        self._own_lazies()
        self.store.drop()

    def _own_lazies(self, but: Snapshot | None = None) -> None:
        for snapshot in [one for one in self.lazies.values() if one is not but]:
            self._registry.own(snapshot, self._contents(self.store.copy_window(snapshot.end), is_view=False))
            del self.lazies[snapshot.id]

    def _contents(self, data: object, *, is_view: bool) -> Contents:
        return Contents(data, self.store.counted(data), self.store.retained(data), is_view, self.store.pinned if is_view else 0)
