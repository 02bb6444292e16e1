"""Captures: the offsets at which all layers are snapshotted during prefill, and their way onto nodes.

A capture does not end a prefill chunk: it is taken from what the chunk's forward left. Only where a layer's state at the offset would be gone
by then (a recurrent layer's), the forward is cut there. Eager captures end the chunk (v0.30.7).

Invariants: offsets are above the resume offset and not beyond the prompt; a KV capture spans from the last capture (or the
resume offset) to its own offset, an eager one from its node's start; every capture ends on a node or is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from kvlab.cache.media import after
from kvlab.cache.paging import Paging
from kvlab.cache.session import Plan
from kvlab.events import Captured, Event, Scheduled
from kvlab.layers import Layer, Snapshot
from kvlab.policy import Policy
from kvlab.trie import Node
from kvlab.workloads.request import MediaItem

Ends = Callable[[], Sequence[int]]
"""Returns the offsets at which a prompt's chat messages end; called only where the policy captures there, as that may render the chat again."""


def capture_offsets(tokens: int, policy: Policy, ends: Ends = tuple, shared: int | None = None) -> list[int]:
    """Return the offsets requested in a prompt of `tokens`: those of `capture_at` below it, and one shortly before its end.

    Of a prompt that is scored (`shared` is not None) the last one is where it and those scored with it part (`score.go`, main).
    """
    offsets = PLACES[policy.capture_at](tokens, policy, ends)
    if shared is not None:
        offsets.append(shared)
    elif 0 < policy.capture_before_end < tokens:
        offsets.append(tokens - policy.capture_before_end)
    return offsets


def _grid(tokens: int, policy: Policy, ends: Ends) -> list[int]:
    del ends
    return list(range(policy.capture_grid, tokens, policy.capture_grid))


def _message_ends(tokens: int, policy: Policy, ends: Ends) -> list[int]:
    del policy
    return [end for end in ends() if 0 < end < tokens]


PLACES: dict[str, Callable[[int, Policy, Ends], list[int]]] = {"grid": _grid, "message_ends": _message_ends}
"""By name of the choice `capture_at`: the offsets of a prompt of so many tokens at which a capture is scheduled."""


class Nodes(Protocol):
    """What captures need of the cache; see `kvlab.cache.prefix.PrefixCache`."""

    policy: Policy
    emit: Callable[[Event], None]
    layers: list[Layer]
    paging: Paging
    look_ahead: int

    @property
    def offset(self) -> int:
        """Tokens that all live buffers hold."""
        ...

    def advance(self, keys: bytes, end: int) -> Node:
        """Move the frontier to token offset `end` along `keys`."""
        ...

    def touch(self, node: Node) -> None:
        """Record that a node was used now."""
        ...

    def compact(self) -> None:
        """Merge the node before the frontier into it, where the policy does."""
        ...

    def evict(self, moment: str) -> None:
        """Evict until the budget holds."""
        ...


class Captures(Plan):
    """The captures of one session.

    Attributes:
        pending: Offsets that some layer has not reached, each with whether it is an explicit restore point.
    """

    __slots__ = ("_bases", "_begun", "_cache", "_eager", "_highest", "_inside", "_items", "_one_by_one", "_take", "_taken", "pending")

    def __init__(self, cache: Nodes, base: int, highest: int, items: Sequence[MediaItem]) -> None:
        self._cache = cache
        self._items = items
        # By layer group: where its next capture begins.
        self._bases = [base] * len(cache.layers)
        self._highest = highest
        # By offset: what of a pending capture was taken, by layer group; draft layers come later than the others.
        self._begun: dict[int, dict[int, Snapshot | None]] = {}
        self._taken: list[tuple[int, bool, list[Snapshot]]] = []
        self._take = TAKE[cache.policy.snapshots]
        self._eager = cache.policy.snapshots == "eager"
        self._inside = not self._eager and all(layer.captures_inside for layer in cache.layers)
        # older releases evict after each capture that replaces what its node had
        self._one_by_one = cache.policy.attach == "replace"
        self.pending: dict[int, bool] = {}

    def schedule(self, offsets: Iterable[int], *, user: bool) -> None:
        """Schedule captures at `offsets`; those already passed or beyond the prompt are dropped."""
        passed = self._cache.offset
        for requested in offsets:
            offset = after(self._items, requested - self._cache.look_ahead if user else requested)
            if passed < offset <= self._highest:
                self.pending[offset] = user or self.pending.get(offset, False)
                self._cache.emit(Scheduled(end=offset, user=self.pending[offset]))

    def ends_chunk(self, edge: int) -> int:
        """Return where a prefill chunk that would end at `edge` ends: before it, at the nearest capture, when captures are eager."""
        return self._nearest(edge) if self._eager else edge

    def ends_forward(self, edge: int) -> int:
        """Return where a forward that would end at `edge` ends: before it, at the nearest capture, when a layer cannot be captured afterwards."""
        return edge if self._inside else self._nearest(edge)

    def take(self, keys: bytes) -> None:
        """Capture each layer at the scheduled offsets that it has reached, in their order."""
        furthest = max(layer.offset for layer in self._cache.layers)
        for offset in sorted(one for one in self.pending if one <= furthest):
            self._take(self, keys, offset)

    def hold(self, offset: int) -> None:
        """Snapshot the layers that have reached `offset`, from their last capture on; a capture of all layers is kept until it is attached."""
        begun = self._begun.setdefault(offset, {})
        for group, layer in enumerate(self._cache.layers):
            if group not in begun and layer.offset >= offset:
                begun[group] = layer.capture(self._bases[group], offset)
                self._bases[group] = offset
        if len(begun) == len(self._bases):
            self._taken.append((offset, self.pending.pop(offset), _some(self._begun.pop(offset))))
            self._cache.emit(Captured(end=offset))

    def hold_on_node(self, keys: bytes, offset: int) -> None:
        """Move the frontier to `offset`, snapshot all layers from that node's start on, and attach at once."""
        self._bases = [self._cache.advance(keys, offset).start] * len(self._bases)
        self.hold(offset)
        self._attach_taken(keys)

    def attach(self, keys: bytes) -> None:
        """Put what was captured onto nodes, moving the frontier along; offsets that were not reached are dropped.

        Eviction runs also when none was reached, and not when none was scheduled (`attachPrefillSnapshots`, v0.30.8 to main).
        """
        scheduled = bool(self.pending or self._taken)
        self._drop_pending()
        self._attach_taken(keys)
        if scheduled and not self._one_by_one:
            self._cache.evict("attach")

    def discard(self) -> None:
        """Close what was captured and attach nothing."""
        self._drop_pending()
        for _, _, snapshots in self._taken:
            self._close(snapshots)
        self._taken = []

    def _attach_taken(self, keys: bytes) -> None:
        reached = self._cache.offset
        for offset, user, snapshots in self._taken:
            if offset > reached:
                # an interrupted forward was taken back
                self._close(snapshots)
                continue
            node = self._cache.advance(keys, offset)
            node.user = node.user or user
            self._cache.paging.attach(snapshots, node)
            self._cache.touch(node)
            self._cache.compact()
            if self._one_by_one:
                self._cache.evict("attach")
        self._taken = []

    def _nearest(self, edge: int) -> int:
        at = max(layer.offset for layer in self._cache.layers)
        return min([edge, *(offset for offset in self.pending if offset > at)])

    def _drop_pending(self) -> None:
        for begun in self._begun.values():
            self._close(_some(begun))
        self._begun.clear()
        self.pending.clear()

    def _close(self, snapshots: Sequence[Snapshot]) -> None:
        for snapshot in snapshots:
            self._cache.layers[snapshot.group].close(snapshot)

    def due(self) -> tuple[int, ...]:
        """Return the offsets, ascending, that some layer has not reached."""
        return tuple(sorted(self.pending))

    def held(self) -> int:
        """Return how many captured snapshots wait for a node."""
        return sum(len(snapshots) for _, _, snapshots in self._taken) + sum(len(_some(begun)) for begun in self._begun.values())


def _some(begun: Mapping[int, Snapshot | None]) -> list[Snapshot]:
    return [snapshot for snapshot in begun.values() if snapshot is not None]


def _lazily(captures: Captures, keys: bytes, offset: int) -> None:
    del keys
    captures.hold(offset)


def _eagerly(captures: Captures, keys: bytes, offset: int) -> None:
    captures.hold_on_node(keys, offset)


TAKE: dict[str, Callable[[Captures, bytes, int], None]] = {"lazy": _lazily, "eager": _eagerly}
"""By name of the choice `snapshots`: how all layers are captured at an offset."""
