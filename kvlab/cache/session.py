"""Session: one request's hold on the cache, from begin to close.

Invariants: layers never rest ahead of the recorded tokens; a closed session does nothing more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kvlab.cache.captures import Captures
from kvlab.trie import to_keys
from kvlab.workloads.request import MediaItem

if TYPE_CHECKING:
    from kvlab.cache.prefix import PrefixCache


class Session:
    """What one request reuses and leaves behind.

    Attributes:
        tokens: The prompt.
        keys: The prompt's keys, packed.
        matched: Tokens that agree with the trie.
        cached: Tokens that were restored.
        reason: Why `cached` is what it is (`kvlab.events.REASONS`).
        items: Media items that may not be cut.
        captures: Its captures.
        closed: It has ended.
    """

    __slots__ = ("_cache", "cached", "captures", "closed", "items", "keys", "matched", "reason", "tokens")

    def __init__(self, cache: PrefixCache, tokens: Sequence[int], keys: bytes, matched: int, cached: int, reason: str, items: Sequence[MediaItem]) -> None:
        self._cache = cache
        self.tokens = tokens
        self.keys = keys
        self.matched = matched
        self.cached = cached
        self.reason = reason
        self.items = items
        self.captures = Captures(cache, cached, len(tokens), items)
        self.closed = False

    @property
    def left(self) -> int:
        """Tokens of the prompt that must be evaluated."""
        return len(self.tokens) - self.cached

    def schedule(self, offsets: Iterable[int], *, user: bool = True) -> None:
        """Ask for captures at token offsets."""
        self.captures.schedule(offsets, user=user)

    @contextmanager
    def writing(self, tokens: int) -> Generator[None, None, None]:
        """Enclose a forward that writes `tokens` at the live offset: lazy snapshots are copied out before it.

        A forward that does not end in peace is taken back: what it wrote was perhaps never evaluated. Layers that cannot go back let go, and
        the others follow them to where all can rest.
        """
        offset = self._cache.offset
        for layer in self._cache.layers:
            layer.will_write(tokens)
        try:
            yield
            for layer in self._cache.layers:
                layer.wrote(tokens)
        except BaseException:
            for layer in self._cache.layers:
                layer.take_back(offset)
            self._cache.paging.rewind(offset)
            raise

    def capture(self) -> None:
        """Capture all layers if they rest at a scheduled offset."""
        self.captures.take(self.keys)
        self._cache.book.sweep()
        self._cache.evict("prefill")

    def attach(self) -> None:
        """Put the captures onto nodes."""
        self.captures.attach(self.keys)

    def close(self, outputs: Sequence[int]) -> None:
        """Record what was evaluated: the captures, and the span up to the live offset as the frontier."""
        if self.closed:
            return
        self.closed = True
        self.attach()
        cache = self._cache
        offset = cache.offset
        if offset < cache.path.frontier.end:
            # what was captured before a forward was interrupted lies further on than what is left of the live state
            cache.realign(offset)
        if offset > cache.path.frontier.end:
            cache.paging.close_session(cache.advance(self.keys + self._keys_of(outputs), offset))
            cache.evict("page_out")
            cache.compact()
        cache.touch(cache.path.frontier)
        cache.book.sweep()
        if cache.policy.on_miss == "prune" and self.cached == 0:
            cache.prune()
        cache.evict("close")

    def _keys_of(self, outputs: Sequence[int]) -> bytes:
        # a key looks ahead, so the prompt's last tokens have theirs only now
        ahead = self._cache.look_ahead
        return to_keys([*self.tokens[len(self.tokens) - ahead :], *outputs], ahead)

    def cancel(self, outputs: Sequence[int] = ()) -> None:
        """End a request that was cut short; what was evaluated stays reusable as the policy's `on_cancel` and `settle_draft` say."""
        if self.closed:
            return
        cache = self._cache
        if cache.policy.on_cancel == "discard":
            self.captures.discard()
        if not cache.policy.settle_draft and not outputs and cache.offset > self.cached:
            for layer in cache.layers:
                if layer.kind == "draft_kv":
                    layer.restore(None, cache.offset - 1)
        if cache.offset < cache.path.frontier.end:
            cache.realign(cache.offset)
        self.close(outputs)
