"""Cache: what every store of prompts is made of: a radix tree (trie), one set of rules per layer group with their snapshots, and every owner's bytes.

How a prompt is restored, what a request leaves behind and what is evicted first is each store's own (`PrefixCache`, `WholeEntries`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from kvlab.allocator import Ledger
from kvlab.cache.paging import Paging
from kvlab.cache.path import ActivePath
from kvlab.cache.reuse import Ghosts, Hit, reason_for
from kvlab.cache.session import Session
from kvlab.cache.supported import require_supported
from kvlab.cache.victims import Order, Ranking
from kvlab.events import RANKS, BufferChanged, BytesRead, Event, Matched
from kvlab.layers import Layer, SnapshotRegistry, Store, layers_for
from kvlab.policy import Policy
from kvlab.trie import Match, Node, Trie
from kvlab.trie.keys import width_of
from kvlab.workloads.request import MediaItem, Segment


class Cache(ABC):
    """A cache of prompts over the live buffers `stores`.

    Attributes:
        policy: The choices it follows.
        emit: Where its events go.
        trie: The trie.
        layers: One set of rules per layer group, in the shape's order.
        targets: Those that a forward writes: all but draft layers.
        registry: Every snapshot and its bytes.
        ledger: Every owner's bytes.
        paging: Moves the layers between the live buffers and the snapshots.
        path: The active path; the root alone where whole entries are kept.
        ranking: Records what decides when eviction takes each node.
        look_ahead: Look-ahead of a key in tokens: 1 when a draft layer's slots depend on the next token.
    """

    def __init__(
        self, stores: Sequence[Store], policy: Policy, ledger: Ledger, emit: Callable[[Event], None], look_ahead: int = 0, order: Order | None = None
    ) -> None:
        require_supported(policy)
        self.policy = policy
        self.emit = emit
        self.ledger = ledger
        self.registry = SnapshotRegistry(ledger, emit, sweeps=policy.lifetimes == "sweep")
        self.layers: list[Layer] = layers_for(stores, policy, self.registry)
        self.targets = [layer for layer in self.layers if layer.kind != "draft_kv"]
        self.paging = Paging(self.layers, self.registry, policy, emit)
        self.look_ahead = look_ahead if policy.draft_keys == "pairs" else 0
        self.trie = Trie(emit, width_of(self.look_ahead))
        self.trie.root.snapshots = self.paging.no_snapshots()
        self.path = ActivePath(self.trie.root, emit)
        self.ranking = Ranking(self.protection, order, emit)
        self.ranking.note(self.trie.root)
        self.registry.on_growth = self.registry.on_loss = self.ranking.note
        if policy.protect == "active_path":
            self.path.on_entered = self.ranking.note
        # what the events so far say of the live buffers: by layer group their offset, and their last change
        self._offsets = [0] * len(self.layers)
        self._written = [group for group, layer in enumerate(self.layers) if layer.kind != "draft_kv"]
        self._stores = [layer.store for layer in self.layers]
        self._buffers = [BufferChanged(group=group, layer=layer.kind) for group, layer in enumerate(self.layers)]
        self._ghosts = Ghosts(self.trie.width)
        self._clock = 0

    @property
    def offset(self) -> int:
        """Tokens that all live buffers hold."""
        return self.paging.offset

    @property
    def counted(self) -> int:
        """Bytes that the policy's budget sees."""
        return self._resident if self.policy.budget_counts == "resident" else self.registry.counted

    @property
    def live_bytes(self) -> int:
        """Bytes that the live buffers retain: their capacity."""
        return sum(layer.store.live_retained() for layer in self.layers)

    @property
    def _resident(self) -> int:
        """Bytes that live buffers and snapshots keep alive, with what views pin, by the shape's prices: a twin knows them too.

        Buffers that only wait for a sweep are not among them.
        """
        return sum(layer.store.live_resident() - layer.shared_resident() for layer in self.layers) + self.registry.resident

    @property
    def _shared(self) -> int:
        """Bytes of snapshots that the live buffers or another snapshot hold too."""
        return sum(layer.shared() for layer in self.layers)

    @abstractmethod
    def begin(self, tokens: Sequence[int], media: Sequence[MediaItem] = (), segments: Sequence[Segment] = (), held_back: int = 1) -> Session:
        """Match a prompt, bring the live buffers to what can be reused, and return the session that evaluates the rest.

        `tokens` are keys: those of a media item are its fold (`kvlab.cache.media.folded`). `segments` become whole entries of their own.
        The last `held_back` tokens are not restored: one, which the decode begins with; none of a prompt that is scored.
        """

    @abstractmethod
    def finish(self, session: Session, outputs: Sequence[int]) -> None:
        """Keep what a session evaluated: its prompt and of its reply `outputs` what the live buffers hold."""

    @abstractmethod
    def cut_short(self, session: Session, outputs: Sequence[int]) -> None:
        """Leave of a cancelled session what the policy keeps; `finish` follows."""

    @abstractmethod
    def evict(self, moment: str) -> None:
        """Evict, in the store's order, until the budget holds or no candidate is left."""

    @abstractmethod
    def realign(self, end: int) -> None:
        """Bring all layers to one offset of at most `end`, and what the store knows of them."""

    @abstractmethod
    def snapshot_start(self, node: Node) -> int:
        """Return where a KV snapshot of `node` has to begin."""

    @abstractmethod
    def protection(self, node: Node) -> str:
        """Return why eviction does not take a node (`kvlab.events.PROTECTIONS`); "" when it may."""

    def touch(self, node: Node) -> None:
        """Record that a node was used now."""
        self._clock += 1
        node.used = self._clock
        node.uses += 1
        self.ranking.note(node)

    def can_evict(self, moment: str) -> bool:
        """Whether eviction would choose a victim at `moment`."""
        return moment in self.policy.evict_at and self.counted > self.policy.budget_bytes

    def clear(self) -> None:
        """Remove every node and free the live buffers, as an unload does; the cache can be used afterwards."""
        self.path.switch([self.trie.root])
        for node in reversed(list(self.trie.walk())):
            if node.parent is not None:
                self.paging.close_all(node)
                self.trie.remove(node)
        self.free_live()
        self._ghosts = Ghosts(self.trie.width)

    def free_live(self) -> None:
        """Free the live buffers."""
        for layer in self.layers:
            layer.free()

    def release(self) -> None:
        """Free everything: live buffers and snapshots. The cache is not used afterwards."""
        for node in self.trie.walk():
            self.paging.close_all(node)
        for layer in self.layers:
            layer.store.drop()

    def read_bytes(self, phase: str) -> BytesRead:
        """Record every owner's bytes at this moment, the live buffers where they changed, and the nodes that eviction would take otherwise than before."""
        self.record()
        self.ledger.see_live(self.live_bytes)
        self.ledger.shared = self._shared
        logical = sum(layer.store.live_logical() for layer in self.layers)
        paged_out = self.registry.counted if self.policy.budget_counts == "resident" else None
        return self.ledger.read(phase, live_logical=logical, counted=self.counted, budget=self.policy.budget_bytes, nodes=self.trie.nodes, paged_out=paged_out)

    def record(self) -> None:
        """Record where eviction would take nodes otherwise than before, and the live buffers whose size changed or that moved unrecorded."""
        if self.ledger.wants(RANKS):
            self.ranking.record()
            self.record_buffers()
        else:
            self.ranking.forget()

    def moved(self, offset: int) -> None:
        """An event says that all live buffers but those of draft layers hold `offset` tokens now."""
        for group in self._written:
            self._offsets[group] = offset

    def record_buffers(self) -> None:
        """Record the live buffers whose size changed, or that moved without an event that says so."""
        for group, store in enumerate(self._stores):
            before, offset, capacity = self._buffers[group], store.offset, store.capacity
            # called after every token: of most buffers nothing but the offset changed, as the token's own event says
            as_expected = offset == self._offsets[group] and capacity == before.capacity and bool(offset) == bool(before.offset)
            if as_expected and store.first == max(before.start, offset - capacity):
                continue
            kind, retained = self.layers[group].kind, store.live_retained()
            event = BufferChanged(group=group, layer=kind, offset=offset, start=store.first, capacity=capacity, retained=retained, before=before.retained)
            self._offsets[group], self._buffers[group] = offset, event
            self.emit(event)

    def _lost(self, keys: bytes, found: Match, tokens: int) -> bool:
        """Whether a prompt of `tokens` would have gone on from what matched into an evicted branch."""
        return found.matched < tokens and self._ghosts.knows(keys, found.matched, found.path[-1])

    def _hit(self, tokens: int, matched: int, reusable: int, limiting: str, *, gone: bool) -> Hit:
        """Record and return what matched of a prompt of `tokens` and what the live buffers hold of it now."""
        cached = self.offset
        self.moved(cached)
        reason, kind = reason_for(matched, cached, reusable, limiting, gone=gone)
        self.emit(Matched(tokens=tokens, matched=matched, cached=cached, left=tokens - cached, reason=reason, layer=kind))
        return Hit(matched, cached, reusable, reason)
