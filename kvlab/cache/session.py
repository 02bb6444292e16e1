"""Session: one request's hold on the cache, from begin to close.

Invariants: layers never rest ahead of the recorded tokens; a closed session does nothing more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kvlab.cache.captures import Captures
from kvlab.trie import to_keys

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
        captures: Its captures.
        closed: It has ended.
    """

    __slots__ = ("_cache", "cached", "captures", "closed", "keys", "matched", "reason", "tokens")

    def __init__(self, cache: PrefixCache, tokens: list[int], keys: bytes, matched: int, cached: int, reason: str) -> None:
        self._cache = cache
        self.tokens = tokens
        self.keys = keys
        self.matched = matched
        self.cached = cached
        self.reason = reason
        self.captures = Captures(cache, cached, len(tokens))
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

        A forward that does not end in peace is taken back: what it wrote was perhaps never evaluated.
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
            raise

    def capture(self) -> None:
        """Capture all layers if they rest at a scheduled offset."""
        self.captures.take()

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
        if offset > cache.path.frontier.end:
            cache.paging.page_out(cache.advance(self.keys + to_keys(outputs), offset))
            cache.evict("page_out")
            cache.compact()
        cache.touch(cache.path.frontier)
        cache.evict("close")

    def cancel(self, outputs: Sequence[int] = ()) -> None:
        """End a request that was cut short; what was evaluated stays reusable."""
        self.close(outputs)
