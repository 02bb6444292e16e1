"""The store `whole_entry_lru`: whole prompts with their whole state, as mlx-lm's server keeps them (`LRUPromptCache`, mlx-lm 0.32).

Each request begins with a copy of the nearest entry, and its end becomes an entry; under `store_segments=server` so do the prompt's segments.
Nearest is: the same tokens; else the shortest entry that continues beyond what is common, if it can be trimmed to that and no shorter entry is
as long; else the longest entry that is a prefix. What an entry's prefixes hold goes when it could be trimmed to them. Evicted first are whole
requests, while there are as many of them as of users' segments; then these, while there are as many as systems'. Of one kind the oldest goes
first; a hit does not make one younger, as in mlx-lm.

Otherwise than mlx-lm: one token is always evaluated again, so the same tokens are trimmed by one or a shorter entry is used; a reply's last
token is not evaluated, so a request's entry ends before it; an entry of one token is found; an entry's copies have no room beyond their tokens.

Invariants: an entry is a node with snapshots, all of them from the first token to the node's end; the trie holds entries and the branch points
between them; between requests the live buffers are empty: what they held is the newest entry's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from kvlab.allocator import Ledger
from kvlab.cache.cache import Cache
from kvlab.cache.media import before
from kvlab.cache.session import Plan, Session
from kvlab.events import Event, Evicted, PagedIn, PagedOut, Scheduled
from kvlab.layers import Store
from kvlab.policy import Policy
from kvlab.trie import Match, Node, to_keys
from kvlab.workloads.request import MediaItem, Segment

KINDS = ("assistant", "user", "system")
"""What an entry holds: a whole request, or a prompt up to its user's or system's segment, in the order in which they are evicted."""


class WholeEntries(Cache):
    """The store `whole_entry_lru`; attributes as in `Cache`."""

    def __init__(self, stores: Sequence[Store], policy: Policy, ledger: Ledger, emit: Callable[[Event], None], look_ahead: int = 0) -> None:
        # an entry's copies are its own from the start
        super().__init__(stores, policy.replace(snapshots="eager"), ledger, emit, look_ahead)
        self._entries: dict[str, dict[int, Node]] = {kind: {} for kind in KINDS}
        self._kinds: dict[int, str] = {}

    def begin(self, tokens: Sequence[int], media: Sequence[MediaItem] = (), segments: Sequence[Segment] = (), held_back: int = 1) -> Session:
        """Match a prompt, copy the nearest entry into the live buffers, and return the session that evaluates the rest."""
        keys = to_keys(tokens, self.look_ahead)
        found = self.trie.match(keys)
        gone = self._lost(keys, found, len(tokens))
        reusable = len(tokens) - held_back
        entry, cached = self._nearest(found, reusable, media)
        if entry is not None:
            for layer, snapshot in zip(self.layers, entry.snapshots, strict=True):
                layer.restore(snapshot, cached)
            self.emit(PagedIn(node=entry.id, start=0, end=cached))
        limiting = next((layer.kind for layer in self.layers if not layer.rewinds), "")
        hit = self._hit(len(tokens), found.matched, reusable, limiting, gone=gone)
        session = Session(self, tokens, keys, hit, media, Segments(self, segments, reusable))
        self.evict("begin")
        return session

    def protection(self, node: Node) -> str:
        """Return why eviction does not take a node: it is no entry."""
        return "" if node.id in self._kinds else "root" if node.parent is None else "no_entry"

    def finish(self, session: Session, outputs: Sequence[int]) -> None:
        """Make an entry of all that was evaluated."""
        if offset := self.offset:
            self.keep(session.keys_with(outputs)[: offset * self.trie.width], "assistant")
            self.free_live()
            self.evict("page_out")
        self.evict("close")

    def cut_short(self, session: Session, outputs: Sequence[int]) -> None:
        """Let what was evaluated go under `on_cancel=discard`."""
        del session, outputs
        if self.policy.on_cancel == "discard":
            self.free_live()

    def clear(self) -> None:
        """Let everything go, as an unload does; the cache can be used afterwards."""
        super().clear()
        self._entries = {kind: {} for kind in KINDS}
        self._kinds = {}

    def can_evict(self, moment: str) -> bool:
        """Whether the budget, at `moment`, or the number of entries, at any, calls for a victim."""
        return 0 < self.policy.store_entries < len(self._kinds) or super().can_evict(moment)

    def evict(self, moment: str) -> None:
        """Evict entries until the budget and their number hold or none is left."""
        while self._kinds and self.can_evict(moment):
            node, reason = self._first_to_go(), "budget" if super().can_evict(moment) else "entries"
            end, counted, state = node.end, self.registry.counted, "interior" if node.children else "leaf"
            if not node.children:
                self._ghosts.remember(node)
            self._drop(node)
            self.emit(Evicted(node=node.id, start=0, end=end, state=state, freed=counted - self.registry.counted, reason=reason))

    def realign(self, end: int) -> None:
        """Bring all layers to one offset of at most `end`."""
        self.paging.rewind(end)

    def snapshot_start(self, node: Node) -> int:
        """Return where a snapshot of `node` begins: an entry's hold everything from the first token on."""
        del node
        return 0

    def keep(self, keys: bytes, kind: str) -> None:
        """Make an entry of a copy of the live buffers, which hold the tokens of `keys`."""
        end = len(keys) // self.trie.width
        node = self._node_at(keys)
        self.paging.close_all(node)
        for layer in self.layers:
            if (snapshot := layer.snapshot(0)) is not None:
                self.registry.place(snapshot, node)
        self.emit(PagedOut(node=node.id, start=0, end=end, state=kind))
        if node.id in self._kinds:
            self._forget(node)
        self._kinds[node.id] = kind
        self._entries[kind][node.id] = node
        self.touch(node)
        if self._can_be_trimmed(node, 0):
            self._drop_prefixes(node)

    def _first_to_go(self) -> Node:
        """Return the oldest entry of the first kind of `KINDS` that has entries, and not fewer than the next kind."""
        chosen = next((kind for kind, after in pairwise(KINDS) if self._entries[kind] and len(self._entries[kind]) >= len(self._entries[after])), KINDS[-1])
        return next(iter(self._entries[chosen].values()))

    def _forget(self, node: Node) -> None:
        del self._entries[self._kinds.pop(node.id)][node.id]

    def _nearest(self, found: Match, last: int, items: Sequence[MediaItem]) -> tuple[Node | None, int]:
        """Return the entry to begin with, and the tokens that are taken of it: at most `last`; no entry and 0 when there is none."""
        common = before(items, min(found.matched, last))
        shorter = next((node for node in reversed(found.path) if node.id in self._kinds and node.end <= common), None)
        longer = self._shortest_beyond(found.path[-1], common)
        if longer is not None and common > (shorter.end if shorter is not None else 0) and self._can_be_trimmed(longer, common):
            return longer, common
        return (None, 0) if shorter is None else (shorter, shorter.end)

    def _shortest_beyond(self, node: Node, common: int) -> Node | None:
        best: Node | None = None
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if best is not None and one.end >= best.end:
                continue
            if one.id in self._kinds and one.end > common:
                best = one
            else:
                waiting.extend(one.children.values())
        return best

    def _can_be_trimmed(self, node: Node, target: int) -> bool:
        # mlx-lm does not trim a sliding window that is just full
        return all(
            layer.can_restore(snapshot, target) and (layer.store.group.chunked or node.end != layer.store.group.window)
            for layer, snapshot in zip(self.layers, node.snapshots, strict=True)
        )

    def _node_at(self, keys: bytes) -> Node:
        found, end = self.trie.match(keys), len(keys) // self.trie.width
        node = found.path[-1]
        if found.matched < node.end:
            node = self.trie.split(node, found.matched)
            node.snapshots = self.paging.no_snapshots()
            self.ranking.note(node)
        if found.matched < end:
            node = self.trie.append(node, keys[found.matched * self.trie.width :])
            node.snapshots = self.paging.no_snapshots()
        return node

    def _drop_prefixes(self, node: Node) -> None:
        above = node.parent
        while above is not None:
            # it may leave the trie
            next_above = above.parent
            if above.id in self._kinds:
                self._drop(above)
            above = next_above

    def _drop(self, node: Node) -> None:
        """Close an entry, and take out the nodes that nothing needs any more."""
        self._forget(node)
        self.ranking.note(node)
        self.paging.close_all(node)
        while node.parent is not None and node.id not in self._kinds:
            if not node.children:
                node = self.trie.remove(node)
                continue
            if node.only is not None and node.only.sibling is None:
                self.trie.merge(node.only)
            return


class Segments(Plan):
    """The segments of one session that are still to be evaluated (`store_segments`).

    An entry is made where a segment ends, at the latest before the prompt's last token, which begins the decode. Nothing waits for a node, and entries
    stay when the request is cancelled.

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

    def ends_forward(self, edge: int) -> int:
        """Return where a forward that would end at `edge` ends: before it, at the end of a segment."""
        at = self._cache.offset
        return min([edge, *(end for end in self.pending if end > at)])

    def due(self) -> tuple[int, ...]:
        """Return where the segments end that have no entry yet, ascending."""
        return tuple(sorted(self.pending))

    def take(self, keys: bytes) -> None:
        """Make an entry of what is evaluated, if a segment ends here."""
        offset = self._cache.offset
        if kind := self.pending.pop(offset, None):
            self._cache.keep(keys[: offset * self._cache.trie.width], kind)
            self._cache.evict("page_out")
