"""Session: one request's hold on the cache, from begin to close.

Invariants: layers never rest ahead of the recorded tokens; a closed session does nothing more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Protocol

from kvlab.cache.reuse import Hit
from kvlab.layers import Layer, SnapshotRegistry
from kvlab.trie import to_keys
from kvlab.workloads.request import MediaItem


class Plan:
    """What of a prompt is kept while it is evaluated, and where a prefill stops for it. This one keeps nothing: all is kept at the request's end."""

    __slots__ = ()

    def schedule(self, offsets: Iterable[int], *, user: bool) -> None:
        """Schedule captures at token offsets; `user` when they are explicit restore points."""

    def ends_chunk(self, edge: int) -> int:
        """Return where a prefill chunk that would end at `edge` ends."""
        return edge

    def ends_forward(self, edge: int) -> int:
        """Return where a forward that would end at `edge` ends."""
        return edge

    def take(self, keys: bytes) -> None:
        """Keep what is scheduled up to the live offset; `keys` are the prompt's."""

    def attach(self, keys: bytes) -> None:
        """Put what was kept onto nodes."""

    def discard(self) -> None:
        """Close what was kept and is on no node."""

    def held(self) -> int:
        """Return how many snapshots wait for a node."""
        return 0

    def due(self) -> tuple[int, ...]:
        """Return the offsets, ascending, at which something is still to be kept."""
        return ()


class Keeper(Protocol):
    """What a session needs of its cache; see `kvlab.cache.cache.Cache`."""

    targets: list[Layer]
    registry: SnapshotRegistry
    look_ahead: int

    @property
    def offset(self) -> int:
        """Tokens that all live buffers hold."""
        ...

    def realign(self, end: int) -> None:
        """Bring all layers to one offset of at most `end`."""
        ...

    def evict(self, moment: str) -> None:
        """Evict until the budget holds."""
        ...

    def finish(self, session: Session, outputs: Sequence[int]) -> None:
        """Keep what a session evaluated."""
        ...

    def cut_short(self, session: Session, outputs: Sequence[int]) -> None:
        """Leave of a cancelled session what the policy keeps."""
        ...


class Session:
    """What one request reuses and leaves behind; at its end the cache's store decides what is kept.

    Attributes:
        tokens: The prompt.
        keys: The prompt's keys, packed.
        matched: Tokens that agree with the trie.
        cached: Tokens that were restored.
        reusable: The prompt's tokens that prefill evaluates when none is restored (`kvlab.cache.reuse.Hit`).
        reason: Why `cached` is what it is (`kvlab.events.REASONS`).
        items: Media items that may not be cut.
        captures: What is kept of the prompt while it is evaluated: captures; of whole entries, segments.
        closed: It has ended.
    """

    __slots__ = ("_cache", "cached", "captures", "closed", "items", "keys", "matched", "reason", "reusable", "tokens")

    def __init__(self, cache: Keeper, tokens: Sequence[int], keys: bytes, hit: Hit, items: Sequence[MediaItem], captures: Plan) -> None:
        self._cache = cache
        self.tokens = tokens
        self.keys = keys
        self.matched, self.cached, self.reusable, self.reason = hit
        self.items = items
        self.captures = captures
        self.closed = False

    @property
    def left(self) -> int:
        """Tokens of the prompt that must be evaluated."""
        return len(self.tokens) - self.cached

    def schedule(self, offsets: Iterable[int], *, user: bool = True) -> None:
        """Schedule captures at token offsets."""
        self.captures.schedule(offsets, user=user)

    @contextmanager
    def writing(self, tokens: int, first: int | None = None, layers: Sequence[Layer] | None = None) -> Generator[None, None, None]:
        """Enclose a forward that writes `tokens` at the live offset: lazy snapshots are copied out before it.

        A forward that raises is undone: what it wrote was perhaps never evaluated. Layers that cannot rewind are freed, and
        the others follow them to an offset that all can have.

        Args:
            tokens: Tokens that the forward writes.
            first: Tokens that upstream's runner writes at once from here on, when that differs: the rest of a prefill chunk, one token of a reply.
            layers: The layers that are written; all but draft layers if None.
        """
        written = [(layer, layer.offset) for layer in layers or self._cache.targets]
        for layer, _ in written:
            layer.will_write(tokens, first)
        try:
            yield
            for layer, _ in written:
                layer.wrote(tokens)
        except BaseException:
            for layer, offset in written:
                layer.take_back(offset)
            self._cache.realign(self._cache.offset)
            raise

    def capture(self) -> None:
        """Capture all layers at the scheduled offsets that they have reached."""
        self.captures.take(self.keys)
        self._cache.registry.sweep()
        self._cache.evict("prefill")

    def attach(self) -> None:
        """Put the captures onto nodes."""
        self.captures.attach(self.keys)

    def close(self, outputs: Sequence[int]) -> None:
        """Record what was evaluated: the captures, and what the live buffers hold of the prompt and the reply `outputs`."""
        if not self.closed:
            self.closed = True
            self.attach()
            self._cache.finish(self, outputs)

    def cancel(self, outputs: Sequence[int] = ()) -> None:
        """End a request that was cut short; what was evaluated stays reusable as the policy's `on_cancel` and `settle_draft` say."""
        if not self.closed:
            self._cache.cut_short(self, outputs)
            self.close(outputs)

    def keys_with(self, outputs: Sequence[int]) -> bytes:
        """Return the keys of the prompt and of the reply `outputs`."""
        # a key depends on the tokens after it, so the prompt's last tokens have theirs only now
        ahead = self._cache.look_ahead
        return self.keys + to_keys([*self.tokens[len(self.tokens) - ahead :], *outputs], ahead)
