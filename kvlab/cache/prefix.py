"""PrefixCache: the trie, the layers and the active path of one loaded model.

Invariants (each checked by `kvlab.cache.check` under the id in brackets):
- edges partition the path [edges]; the active path is a chain that ends at the live offset between requests [path];
- a KV snapshot covers its node's edge exactly [kv_covers_edge];
- all layers rest at one offset [level]; created - closed - held snapshots = 0 [snapshots_conserved]; counted = the sum over nodes [counted];
- a still-lazy snapshot was never overwritten [lazy_intact]; every restored position is right [restored_right];
- with KV layers only, cached = matched, one less on a full match [cached_is_matched].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvlab.allocator import Ledger
from kvlab.cache.ghosts import Ghosts
from kvlab.cache.growth import COMPACT, GROW
from kvlab.cache.media import before
from kvlab.cache.paging import Paging
from kvlab.cache.path import ActivePath
from kvlab.cache.reuse import reason_for
from kvlab.cache.session import Session
from kvlab.cache.supported import require_supported
from kvlab.cache.victims import Victims
from kvlab.events import BytesRead, Event, Evicted, Matched
from kvlab.layers import Book, Layer, Store, layers_for
from kvlab.policy import Policy
from kvlab.trie import Match, Node, Trie, descend, to_keys
from kvlab.trie.keys import width_of
from kvlab.workloads.request import MediaItem


class PrefixCache:
    """The prefix cache over the live buffers `stores`.

    Attributes:
        policy: The choices it follows.
        trie: The trie.
        layers: One set of rules per layer group, in the shape's order.
        book: Every snapshot and its bytes.
        ledger: Every owner's bytes.
        path: The active path.
        look_ahead: Tokens a key looks ahead: 1 when a draft layer's slots depend on the next token.
    """

    def __init__(self, stores: Sequence[Store], policy: Policy, ledger: Ledger, emit: Callable[[Event], None], look_ahead: int = 0) -> None:
        require_supported(policy)
        self.policy = policy
        self.emit = emit
        self.ledger = ledger
        self.book = Book(ledger, emit, sweeps=policy.lifetimes == "sweep")
        self.layers: list[Layer] = layers_for(stores, policy, self.book)
        self.paging = Paging(self.layers, self.book, policy, emit)
        self.look_ahead = look_ahead if policy.draft_keys == "pairs" else 0
        self.trie = Trie(emit, width_of(self.look_ahead))
        self.trie.root.snapshots = self.paging.no_snapshots()
        self.path = ActivePath(self.trie.root, emit, self._may_be_victim)
        self._victims = Victims(self._is_protected, policy.evict_order)
        self._ghosts = Ghosts(self.trie.width)
        self._clock = 0
        self._grow = GROW[policy.growth]
        self._compact = COMPACT[policy.growth]
        self.book.on_growth = self._victims.push

    @property
    def offset(self) -> int:
        """Tokens that all live buffers hold."""
        return self.paging.offset

    @property
    def counted(self) -> int:
        """Bytes that the policy's budget sees."""
        return self.book.counted + (self.live_bytes if self.policy.budget_counts == "resident" else 0)

    @property
    def live_bytes(self) -> int:
        """Bytes that the live buffers retain: their capacity."""
        return sum(layer.store.live_retained() for layer in self.layers)

    def begin(self, tokens: Sequence[int], media: Sequence[MediaItem] = ()) -> Session:
        """Match a prompt, bring the live buffers to what can be reused, and return the session that evaluates the rest.

        `tokens` stand for keys: those of a media item are its fold (`kvlab.cache.media.folded`).
        """
        items = media if self.policy.media == "whole_items" else ()
        keys = to_keys(tokens, self.look_ahead)
        found = self.trie.match(keys)
        matched = found.matched
        gone = matched < len(tokens) and self._ghosts.knows(keys, matched, found.path[-1])
        if matched == len(tokens):
            # One token is always evaluated again: without it there is nothing to sample from.
            found = self.trie.match(keys, matched - 1)
        found = Match(found.path, before(items, found.matched))
        refused = self.paging.switch(self.path, found, items)
        self._follow(found)
        cached = self.offset
        reason, limiting = reason_for(matched, cached, len(tokens), refused, gone=gone)
        self.emit(Matched(tokens=len(tokens), matched=matched, cached=cached, left=len(tokens) - cached, reason=reason, layer=limiting))
        session = Session(self, tokens, keys, matched, cached, reason, items)
        if cached < found.matched:
            session.schedule([found.matched], user=False)
        self._shrink()
        self.evict("begin")
        return session

    def advance(self, keys: bytes, end: int) -> Node:
        """Move the frontier to token offset `end` along `keys`: over existing nodes, cutting one that goes on, then by one new node."""
        node = self.path.frontier
        while node.end < end and (found := descend(node, keys, node.end, end, self.trie.width)) is not None:
            child, agreed = found
            node = child if agreed == child.tokens else self.split(child, node.end + agreed)
            self.path.extend(node)
        if node.end < end:
            node = self._grow(self, node, keys[self.trie.width * node.end : self.trie.width * end])
        self.path.entered = None
        return node

    def split(self, node: Node, at: int) -> Node:
        """Cut a node and its snapshots at offset `at`; return the head."""
        head = self.trie.split(node, at)
        if node is self.path.entered:
            head.used = self.path.entered_used
        head.snapshots = self.paging.no_snapshots()
        self.paging.split(node, head)
        self._victims.push(head)
        self._victims.push(node)
        return head

    def merge(self, node: Node) -> None:
        """Merge a node's parent into it, snapshots included."""
        head = self.trie.merge(node)
        if head.active:
            self.path.forget(head)
        self.paging.merge(head, node)
        self._victims.push(node)

    def compact(self) -> None:
        """Merge the node before the frontier into it, when nothing else hangs on it and nobody asked to keep it."""
        self._compact(self)

    def touch(self, node: Node) -> None:
        """Note that a node was used now."""
        self._clock += 1
        node.used = self._clock
        node.uses += 1

    def can_evict(self, moment: str) -> bool:
        """Whether eviction would look for a victim at `moment`."""
        return moment in self.policy.evict_at and self.counted > self.policy.budget_bytes

    def evict(self, moment: str) -> None:
        """Evict, in the policy's order, until the budget holds or no candidate is left."""
        while self.can_evict(moment):
            self._settle_entered()
            node = self._victims.pop()
            if node is None:
                return
            self._evict(node)

    def prune(self) -> None:
        """Take the running request's own branch out: the nodes from the frontier up that nothing else hangs on."""
        node = self.path.frontier
        while node.parent is not None and not node.children:
            self.paging.close_all(node)
            self.path.forget(node)
            node = self.trie.remove(node)
        self.realign(node.end)

    def realign(self, end: int) -> None:
        """Bring all layers to one offset of at most `end`, and the path to the nodes that lie before it."""
        self.paging.rewind(end)
        self.path.switch([node for node in self.path.nodes if node.end <= self.offset])

    def clear(self) -> None:
        """Take every node out and let the live buffers go, as an unload does; the cache can be used afterwards."""
        self.path.switch([self.trie.root])
        for node in reversed(list(self.trie.walk())):
            if node.parent is not None:
                self.paging.close_all(node)
                self.trie.remove(node)
        for layer in self.layers:
            layer.free()
        self._ghosts = Ghosts(self.trie.width)

    def release(self) -> None:
        """Let everything go: live buffers and snapshots. The cache is not used afterwards."""
        for node in self.trie.walk():
            self.paging.close_all(node)
        for layer in self.layers:
            layer.store.drop()

    def snapshot_start(self, node: Node) -> int:
        """Return where a KV snapshot of `node` has to begin: at its edge's start."""
        return node.start

    def read_bytes(self, phase: str) -> BytesRead:
        """Write down every owner's bytes at this moment."""
        self.ledger.see_live(self.live_bytes)
        self.ledger.shared = sum(layer.shared() for layer in self.layers)
        logical = sum(layer.store.live_logical() for layer in self.layers)
        return self.ledger.read(phase, live_logical=logical, counted=self.counted, budget=self.policy.budget_bytes, nodes=self.trie.nodes)

    def _follow(self, found: Match) -> None:
        offset = self.offset
        whole = [node for node in found.path if node.end <= offset]
        self.path.switch(whole)
        self.touch(self.path.frontier)
        if self.policy.mid_edge == "split" and self.path.frontier.end < offset:
            self.path.entered = found.path[len(whole)]
            self.path.entered_at = offset
            self.path.entered_used = self._clock

    def _shrink(self) -> None:
        if self.policy.live_buffer == "shrink":
            for layer in self.layers:
                layer.shrink()

    def _settle_entered(self) -> None:
        # A partly used edge is cut only when eviction needs the unused tail: a request that follows the edge never pays for it.
        entered = self.path.entered
        if entered is not None:
            head = self.split(entered, self.path.entered_at)
            self.path.entered = None
            self.path.extend(head)

    def _evict(self, node: Node) -> None:
        start, end, before = node.start, node.end, self.book.counted
        if node.children:
            state = "interior"
            self.merge(next(iter(node.children.values())))
        else:
            state = "leaf"
            self._ghosts.remember(node)
            self.paging.close_all(node)
            if node.active:
                self.path.forget(node)
            self._may_be_victim(self.trie.remove(node))
        self.emit(Evicted(node=node.id, start=start, end=end, state=state, freed=before - self.book.counted))

    def _is_protected(self, node: Node) -> bool:
        if node.parent is None or len(node.children) > 1 or node is self.path.frontier:
            return True
        return self.policy.protect == "active_path" and node.active

    def _may_be_victim(self, node: Node) -> None:
        if node.parent is not None:
            self._victims.push(node)
