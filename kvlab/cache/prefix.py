"""PrefixCache: the trie, the layers and the active path of one loaded model.

Invariants (each checked by `kvlab.cache.check` under the id in brackets):
- edges partition the path [edges]; the active path is a chain that ends at the live offset between requests [path];
- a KV snapshot covers its node's edge exactly [kv_covers_edge];
- all layers rest at one offset [level]; created - closed - held snapshots = 0 [snapshots_conserved]; counted = the sum over nodes [counted];
- a still-lazy snapshot was never overwritten [lazy_intact]; every restored position is right [restored_right];
- with KV layers only, cached = matched, one less on a full match unless the prompt is scored [cached_is_matched].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvlab.allocator import Ledger
from kvlab.cache.cache import Cache
from kvlab.cache.captures import Captures
from kvlab.cache.media import before
from kvlab.cache.session import Session
from kvlab.cache.victims import ORDERS, Victims
from kvlab.events import Event, Evicted
from kvlab.layers import Store
from kvlab.policy import Policy
from kvlab.trie import Node, descend, to_keys
from kvlab.workloads.request import MediaItem, Segment


class PrefixCache(Cache):
    """The store `trie`: prompts share nodes, and the live buffers hold the active path; attributes as in `Cache`."""

    def __init__(self, stores: Sequence[Store], policy: Policy, ledger: Ledger, emit: Callable[[Event], None], look_ahead: int = 0) -> None:
        super().__init__(stores, policy, ledger, emit, look_ahead, ORDERS[policy.evict_order])
        self._victims = Victims(self.protection, policy.evict_order)
        self._grows_in_place = policy.growth == "in_place"
        self.registry.on_growth = self.path.on_left = self._may_be_victim

    def begin(self, tokens: Sequence[int], media: Sequence[MediaItem] = (), segments: Sequence[Segment] = (), held_back: int = 1) -> Session:
        """Match a prompt, bring the live buffers as far along the trie as they can go, and return the session that evaluates the rest."""
        # nodes share what prompts have in common, wherever a segment ends
        del segments
        items = media if self.policy.media == "whole_items" else ()
        keys = to_keys(tokens, self.look_ahead)
        found = self.trie.match(keys)
        matched = found.matched
        gone = self._lost(keys, found, len(tokens))
        # A reply needs one token to be evaluated again: without it there is nothing to sample from.
        reusable = len(tokens) - held_back
        reused = before(items, min(matched, reusable))
        if reused < matched:
            found = self.trie.match(keys, reused)
        followed, refused = self.paging.switch(self.path, found, items)
        self._follow(found.path, followed)
        hit = self._hit(len(tokens), matched, reusable, refused, gone=gone)
        session = Session(self, tokens, keys, hit, items, Captures(self, hit.cached, len(tokens), items))
        if hit.cached < found.matched:
            session.schedule([found.matched], user=False)
        self._shrink()
        self.evict("begin")
        return session

    def finish(self, session: Session, outputs: Sequence[int]) -> None:
        """Record the span up to the live offset as the frontier."""
        offset = self.offset
        if offset > self.path.frontier.end:
            if self.paging.page_out(self.advance(session.keys_with(outputs), offset)):
                self.evict("page_out")
            self.compact()
        if offset:
            self.touch(self.path.frontier)
        self.registry.sweep()
        if self.policy.on_miss == "prune" and session.cached == 0:
            self.prune()
        self.evict("close")

    def cut_short(self, session: Session, outputs: Sequence[int]) -> None:
        """Drop the captures under `on_cancel=discard`."""
        del outputs
        if self.policy.on_cancel == "discard":
            session.captures.discard()

    def advance(self, keys: bytes, end: int) -> Node:
        """Move the frontier to token offset `end` along `keys`: over existing nodes, splitting one that extends beyond it, then by one new node."""
        node = self.path.frontier
        while node.end < end and (found := descend(node, keys, node.end, end, self.trie.width)) is not None:
            child, agreed = found
            node = child if agreed == child.tokens else self.split(child, node.end + agreed)
            self.path.extend(node)
        if node.end < end:
            node = self._grow(node, keys[self.trie.width * node.end : self.trie.width * end])
        self.ranking.note(node)
        return node

    def split(self, node: Node, at: int) -> Node:
        """Cut a node and its snapshots at offset `at`; return the head."""
        head = self.trie.split(node, at)
        head.snapshots = self.paging.no_snapshots()
        self.paging.split(node, head)
        self._may_be_victim(head)
        self._may_be_victim(node)
        return head

    def merge(self, node: Node) -> None:
        """Merge a node's parent into it, snapshots included."""
        head = self.trie.merge(node)
        if head.active:
            self.path.forget(head)
        self.paging.merge(head, node)
        self._may_be_victim(node)

    def compact(self) -> None:
        """Merge the node before the frontier into it, when it has no other child and is no explicit restore point; a path that grows in place stays."""
        nodes = self.path.nodes
        if not self._grows_in_place and len(nodes) > 2 and not nodes[-2].user and len(nodes[-2].children) == 1:
            self.merge(nodes[-1])

    def evict(self, moment: str) -> None:
        """Evict, in the policy's order, until the budget holds or no candidate is left."""
        while self.can_evict(moment):
            self.record()
            node = self._victims.pop()
            if node is None:
                return
            self._evict(node)

    def prune(self) -> None:
        """Remove the running request's own branch: the nodes from the frontier up that have no other child."""
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

    def snapshot_start(self, node: Node) -> int:
        """Return where a KV snapshot of `node` has to begin: at its edge's start."""
        return node.start

    def _grow(self, node: Node, edge: bytes) -> Node:
        """Take up new keys below the frontier and return the new one: a child, which carries exactly its own captures.

        Under `growth=in_place` (older releases) a leaf that is no explicit restore point drops its snapshots and grows under what is captured next.
        """
        if self._grows_in_place and node.parent is not None and not node.children:
            if not node.user:
                self.paging.close_all(node)
            if not any(node.snapshots):
                self.trie.extend(node, edge)
                return node
        child = self.trie.append(node, edge)
        child.snapshots = self.paging.no_snapshots()
        self.path.extend(child)
        return child

    def _follow(self, path: Sequence[Node], offset: int) -> None:
        whole = [node for node in path if node.end <= offset]
        if self.policy.mid_edge == "split" and whole[-1].end < offset:
            # the used head stays on the path, and only the unused tail can be evicted
            whole.append(self.split(path[len(whole)], offset))
        self.path.switch(whole)
        self.path.freed = self.offset < offset
        self.touch(self.path.frontier)

    def _shrink(self) -> None:
        if self.policy.live_buffer == "shrink":
            for layer in self.layers:
                layer.shrink()

    def _evict(self, node: Node) -> None:
        start, end, before = node.start, node.end, self.registry.counted
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
        self.emit(Evicted(node=node.id, start=start, end=end, state=state, freed=before - self.registry.counted))

    def protection(self, node: Node) -> str:
        """Return why eviction does not take a node (`kvlab.events.PROTECTIONS`); "" when it may."""
        if node.parent is None:
            return "root"
        if len(node.children) > 1:
            return "branch"
        if node is self.path.frontier:
            return "frontier"
        return "active_path" if node.active and self.policy.protect == "active_path" else ""

    def _may_be_victim(self, node: Node) -> None:
        self.ranking.note(node)
        if node.parent is not None:
            self._victims.push(node)
