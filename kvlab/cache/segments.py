"""Segments: what `WholeEntries` keeps of a prompt while it is evaluated (`store_segments`).

Invariant: an entry is made where a segment ends, at the latest before the prompt's last token, which begins the decode.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvlab.events import Scheduled
from kvlab.workloads.request import Segment

if TYPE_CHECKING:
    from kvlab.cache.whole_entries import WholeEntries


class Segments:
    """The segments of one session that are still to be evaluated; it answers as `kvlab.cache.captures.Captures` does.

    Attributes:
        pending: By the offset at which it ends, the kind of each.
    """

    __slots__ = ("_cache", "pending")

    def __init__(self, cache: WholeEntries, segments: Iterable[Segment], last: int) -> None:
        self._cache = cache
        self.pending: dict[int, str] = {}
        for kind, end in segments:
            # of two that end at `last`, the second has only the prompt's last token left
            offset = min(end, last) - cache.look_ahead
            if offset > cache.offset and offset not in self.pending:
                self.pending[offset] = kind
                cache.emit(Scheduled(end=offset))

    def schedule(self, offsets: Iterable[int], *, user: bool) -> None:
        """Take no note: an entry holds no state but that at its end."""

    def ends_chunk(self, edge: int) -> int:
        """Return `edge`: nothing ends a chunk early."""
        return edge

    def ends_forward(self, edge: int) -> int:
        """Return where a forward that would end at `edge` ends: before it, at the end of a segment."""
        at = self._cache.offset
        return min([edge, *(end for end in self.pending if end > at)])

    def take(self, keys: bytes) -> None:
        """Make an entry of what is evaluated, if a segment ends here."""
        offset = self._cache.offset
        if kind := self.pending.pop(offset, None):
            self._cache.keep(keys[: offset * self._cache.trie.width], kind)
            self._cache.evict("page_out")

    def attach(self, keys: bytes) -> None:
        """Attach nothing: entries are in the trie when they are made."""

    def discard(self) -> None:
        """Close nothing: entries stay when the request is cancelled."""

    def held(self) -> int:
        """Return 0: no snapshot waits for a node."""
        return 0
