"""EntrySession: one request's hold on a cache of whole entries. It takes no captures; what it leaves is one entry, at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvlab.cache.session import Session
from kvlab.workloads.request import MediaItem

if TYPE_CHECKING:
    from kvlab.cache.whole_entries import WholeEntries


class EntrySession(Session):
    """What one request reuses and leaves behind; attributes as in `Session`."""

    __slots__ = ("_entries",)

    def __init__(self, cache: WholeEntries, tokens: Sequence[int], keys: bytes, matched: int, cached: int, reason: str, items: Sequence[MediaItem]) -> None:
        super().__init__(cache, tokens, keys, matched, cached, reason, items)
        self._entries = cache

    def schedule(self, offsets: Iterable[int], *, user: bool = True) -> None:
        """Take note of nothing: an entry is whole, it holds no state but that at its end."""

    def capture(self) -> None:
        """Evict during the prefill, where the policy says so."""
        self._entries.evict("prefill")

    def attach(self) -> None:
        """Attach nothing: the entry is made when the request closes."""

    def close(self, outputs: Sequence[int]) -> None:
        """Make an entry of all that was evaluated."""
        if self.closed:
            return
        self.closed = True
        if offset := self._entries.offset:
            self._entries.keep((self.keys + self._keys_of(outputs))[: offset * self._entries.trie.width])
        self._entries.evict("close")

    def cancel(self, outputs: Sequence[int] = ()) -> None:
        """End a request that was cut short: what was evaluated becomes an entry, or nothing does under `on_cancel=discard`."""
        if not self.closed and self._entries.policy.on_cancel == "discard":
            self._entries.empty()
        self.close(outputs)
