"""Captures: the offsets at which all layers are snapshotted during prefill, and their way onto nodes.

Invariants: offsets are above the resume offset and not beyond the prompt; a KV capture spans from the last capture (or the
resume offset) to its own offset, an eager one from its node's start; every capture ends on a node or is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kvlab.cache.media import after
from kvlab.events import Captured, Scheduled
from kvlab.layers import Snapshot
from kvlab.policy import Policy
from kvlab.workloads.request import MediaItem

if TYPE_CHECKING:
    from kvlab.cache.prefix import PrefixCache


Ends = Callable[[], Sequence[int]]
"""Tells the offsets at which a prompt's chat messages end; asked only where the policy captures there, as that may render the chat again."""


def capture_offsets(tokens: int, policy: Policy, ends: Ends = tuple) -> list[int]:
    """Return the offsets asked for in a prompt of `tokens`: those of `capture_at` below it, and one shortly before its end."""
    offsets = PLACES[policy.capture_at](tokens, policy, ends)
    if 0 < policy.capture_before_end < tokens:
        offsets.append(tokens - policy.capture_before_end)
    return offsets


def _grid(tokens: int, policy: Policy, ends: Ends) -> list[int]:
    del ends
    return list(range(policy.capture_grid, tokens, policy.capture_grid))


def _message_ends(tokens: int, policy: Policy, ends: Ends) -> list[int]:
    del policy
    return [end for end in ends() if 0 < end < tokens]


PLACES: dict[str, Callable[[int, Policy, Ends], list[int]]] = {"grid": _grid, "message_ends": _message_ends}
"""By name of the choice `capture_at`: the offsets of a prompt of so many tokens at which a capture is asked for."""


class Captures:
    """The captures of one session.

    Attributes:
        pending: Offsets still to come, each with whether it is an explicit restore point.
    """

    __slots__ = ("_base", "_cache", "_highest", "_items", "_take", "_taken", "pending")

    def __init__(self, cache: PrefixCache, base: int, highest: int, items: Sequence[MediaItem]) -> None:
        self._cache = cache
        self._items = items
        self._base = base
        self._highest = highest
        self._taken: list[tuple[int, bool, list[Snapshot]]] = []
        self._take = TAKE[cache.policy.snapshots]
        self.pending: dict[int, bool] = {}

    def schedule(self, offsets: Iterable[int], *, user: bool) -> None:
        """Ask for captures at `offsets`; those that are passed already or lie beyond the prompt are dropped."""
        passed = max(self._base, self._cache.offset)
        for asked in offsets:
            offset = after(self._items, asked - self._cache.look_ahead if user else asked)
            if passed < offset <= self._highest:
                self.pending[offset] = user or self.pending.get(offset, False)
                self._cache.emit(Scheduled(end=offset, user=self.pending[offset]))

    def next_offset(self) -> int | None:
        """Return the nearest offset still to come."""
        return min(self.pending, default=None)

    def take(self, keys: bytes) -> None:
        """Capture all layers if they rest at a scheduled offset."""
        user = self.pending.pop(self._cache.offset, None)
        if user is not None:
            self._take(self, keys, user)

    def hold(self, *, user: bool) -> None:
        """Snapshot all layers, from the last capture on, and keep the snapshots until they are attached."""
        offset = self._cache.offset
        snapshots = [layer.snapshot(self._base) for layer in self._cache.layers]
        self._taken.append((offset, user, [one for one in snapshots if one is not None]))
        self._base = offset
        self._cache.emit(Captured(end=offset))

    def hold_on_node(self, keys: bytes, *, user: bool) -> None:
        """Move the frontier to the offset, snapshot all layers from that node's start on, and attach at once."""
        self._base = self._cache.advance(keys, self._cache.offset).start
        self.hold(user=user)
        self.attach(keys)

    def attach(self, keys: bytes) -> None:
        """Put what was captured onto nodes, moving the frontier along."""
        for offset, user, snapshots in self._taken:
            node = self._cache.advance(keys, offset)
            node.user = node.user or user
            self._cache.paging.attach(snapshots, node)
            self._cache.touch(node)
            self._cache.compact()
        if self._taken:
            self._taken = []
            self._cache.evict("attach")

    def discard(self) -> None:
        """Close what was captured and attach nothing."""
        for _, _, snapshots in self._taken:
            for snapshot in snapshots:
                self._cache.layers[snapshot.group].close(snapshot)
        self._taken = []

    def held(self) -> int:
        """Return how many captured snapshots wait for a node."""
        return sum(len(snapshots) for _, _, snapshots in self._taken)


def _lazily(captures: Captures, keys: bytes, user: bool) -> None:  # noqa: FBT001  a table's functions are called alike
    del keys
    captures.hold(user=user)


def _eagerly(captures: Captures, keys: bytes, user: bool) -> None:  # noqa: FBT001  as above
    captures.hold_on_node(keys, user=user)


TAKE: dict[str, Callable[[Captures, bytes, bool], None]] = {"lazy": _lazily, "eager": _eagerly}
"""By name of the choice `snapshots`: how all layers are captured where they rest."""
