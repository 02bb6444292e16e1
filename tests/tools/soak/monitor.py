"""Monitor: reads one trial's events, and the cache between them, and says of each request what was seen.

It changes nothing. What it knows of nodes and snapshots it has from the events; the cache itself is looked at when bytes are read,
because then every layer is at rest.
"""

from __future__ import annotations

from collections.abc import Callable

from kvlab.cache import Cache
from kvlab.cache.paging import FREE_ALL
from kvlab.events import (
    BytesRead,
    Captured,
    ChunkRan,
    Event,
    FrontierMoved,
    Matched,
    NodeBorn,
    NodeMerged,
    NodeSplit,
    PagedOut,
    RequestClosed,
    Scheduled,
    SnapshotClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
    Violation,
    Warned,
    WrongPositions,
)
from kvlab.layers import KV_KINDS
from kvlab.trie import Node
from tests.tools.soak.action import Action
from tests.tools.soak.observation import Observation


class Monitor:
    """Sees one trial.

    Attributes:
        observation: What was seen of the request under way, or of the last one.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._nodes: dict[int, tuple[int, int]] = {0: (0, 0)}
        self._snapshots: dict[int, tuple[str, int]] = {}
        self._partial: tuple[Node, int] | None = None
        self._sound = self._edges_sound = True
        self._sees: dict[type[Event], Callable[..., None]] = {
            NodeBorn: self._node_born,
            NodeSplit: self._node_split,
            NodeMerged: self._node_merged,
            PagedOut: self._paged_out,
            SnapshotTaken: self._taken,
            SnapshotPlaced: self._placed,
            SnapshotOwned: self._owned,
            SnapshotClosed: self._closed,
            FrontierMoved: self._moved,
            ChunkRan: self._chunk,
            Captured: self._captured_at,
            Scheduled: self._scheduled,
            Matched: self._matched,
            Warned: self._warned,
            Violation: self._violation,
            WrongPositions: self._wrong,
            BytesRead: self._bytes,
            RequestClosed: self._ended,
        }
        self.begin(Action((1,)))

    def begin(self, action: Action) -> None:
        """A request is about to run."""
        self.observation = Observation(tokens=len(action.tokens), drafts_sound=self._sound)
        self._restoring = True
        self._action = action
        self._newborn: set[int] = set()
        self._grown: set[int] = set()
        self._since_chunk: set[int] = set()
        self._captured: set[int] = set()
        self._lost: set[int] = set()
        self._closing = False
        self._bare: set[int] = set()
        self._moved_at_close = False
        self._nodes_before = self._cache.trie.nodes

    def see(self, event: Event) -> None:
        """Take one event in."""
        if (method := self._sees.get(type(event))) is not None:
            method(event)

    def _matched(self, event: Matched) -> None:
        self.observation.matched, self.observation.cached = event.matched, event.cached
        self.observation.inside_item |= self._inside(event.cached)

    def _scheduled(self, event: Scheduled) -> None:
        self.observation.inside_item |= self._inside(event.end)

    def _inside(self, offset: int) -> bool:
        return any(item.cuts(offset) for item in self._action.media)

    def _node_born(self, event: NodeBorn) -> None:
        (self._grown if event.node in self._nodes else self._newborn).add(event.node)
        self._nodes[event.node] = (event.start, event.end)
        if self._closing:
            self._moved_at_close = True
            self._bare.add(event.node)

    def _node_split(self, event: NodeSplit) -> None:
        self._nodes[event.head] = (event.start, event.end)
        self._nodes[event.node] = (event.end, self._nodes[event.node][1])

    def _node_merged(self, event: NodeMerged) -> None:
        self._nodes[event.node] = (event.start, event.end)

    def _paged_out(self, event: PagedOut) -> None:
        # not skipped: what it misses afterwards it has lost in a merge with a bare node
        if self._partial is not None and self._partial[0].id == event.node:
            self._partial = None

    def _taken(self, event: SnapshotTaken) -> None:
        self._snapshots[event.snapshot] = (event.layer, event.start)
        self._since_chunk.add(event.snapshot)
        if event.state == "view":
            self.observation.pinned += event.retained - event.counted

    def _chunk(self, event: ChunkRan) -> None:
        del event
        self._restoring = False
        self._since_chunk.clear()

    def _captured_at(self, event: Captured) -> None:
        del event
        self._captured.update(self._since_chunk)
        self._lost.update(self._since_chunk)

    def _placed(self, event: SnapshotPlaced) -> None:
        self._bare.discard(event.node)
        self._since_chunk.discard(event.snapshot)
        if event.snapshot not in self._captured:
            return
        self._lost.discard(event.snapshot)
        layer, start = self._snapshots[event.snapshot]
        begins = self._nodes[event.node][0]
        if layer not in KV_KINDS or start == begins:
            return
        self._edges_sound = False
        if event.node in self._grown:
            self.observation.off_edge_grown = True
        elif event.node in self._newborn and start > begins:
            self.observation.off_edge_newborn = True
        else:
            self.observation.off_edge_existing = True

    def _owned(self, event: SnapshotOwned) -> None:
        if self.observation.freed_all and not self._closing:
            self.observation.copied_when_freed += event.counted

    def _closed(self, event: SnapshotClosed) -> None:
        if self._closing and not self._moved_at_close and event.snapshot in self._lost:
            self.observation.captures_lost = True

    def _moved(self, event: FrontierMoved) -> None:
        del event
        self._moved_at_close |= self._closing

    def _warned(self, event: Warned) -> None:
        self.observation.freed_all |= event.message.startswith(FREE_ALL)

    def _violation(self, event: Violation) -> None:
        self.observation.rules.append((event.rule, event.message))
        if event.rule == "lazy_intact":
            self.observation.overwritten |= self._edges_sound or not self._restoring
        self._sound &= event.rule not in ("lazy_intact", "level")
        self._edges_sound &= event.rule != "kv_covers_edge"

    def _wrong(self, event: WrongPositions) -> None:
        self.observation.wrong.append(event)
        # a lazy snapshot that a begin itself takes and overwrites is seen only when it is restored
        self.observation.overwritten |= event.layer == "kv" and self._sound and self._edges_sound

    def _ended(self, event: RequestClosed) -> None:
        self.observation.cancelled = event.stop == "cancelled"
        cache = self._cache
        drafts = [layer.offset for layer in cache.layers if layer.kind == "draft_kv"]
        self.observation.draft_behind = bool(drafts) and min(layer.offset for layer in cache.targets) - max(drafts) == 1

    def _bytes(self, event: BytesRead) -> None:
        if event.source == "twin":
            return
        if event.phase == "begin":
            self._at_begin(event)
            return
        self._restoring = False
        if event.phase == "attach":
            self.observation.transient = max(self.observation.transient, event.transient)
        elif event.phase == "decode":
            self._closing = True
        elif event.phase == "close":
            self._at_close(event)

    def _at_begin(self, event: BytesRead) -> None:
        cache, observation = self._cache, self.observation
        observation.transient = event.transient
        over = cache.counted - event.budget
        if over > 0 and any(_could_go(node, cache) for node in cache.path.nodes[1:-1]):
            observation.over_budget_by_path = over
        for layer in cache.layers:
            if layer.kind in KV_KINDS:
                step = layer.store.group.growth_step
                observation.room_kept = max(observation.room_kept, layer.store.capacity - -(-layer.offset // step) * step)
        if self._partial is not None:
            node, end = self._partial
            left = observation.matched < end and not node.active
            if left and node.parent is not None and node.end == end and None in node.snapshots and any(node.snapshots):
                observation.head_left_bare = True
        self._partial = None

    def _at_close(self, event: BytesRead) -> None:
        cache, observation = self._cache, self.observation
        observation.over_budget_with_live = event.counted <= event.budget < cache.registry.counted + event.live
        if observation.matched == observation.cached == 0 and self._nodes_before > 1:
            observation.nodes_left = max(0, cache.trie.nodes - self._nodes_before)
        observation.tail_bare = bool(self._bare)
        node = cache.path.frontier
        if node.parent is not None and node.end == cache.offset:
            level = all(layer.offset == node.end for layer in cache.layers)
            if level and self._moved_at_close and any(node.snapshots) and None in node.snapshots:
                self._partial = (node, node.end)


def _could_go(node: Node, cache: Cache) -> bool:
    # what upstream main would evict here: no branch leaves from it, and it holds a whole state
    whole = any(snapshot is not None and not cache.layers[group].rewinds for group, snapshot in enumerate(node.snapshots))
    return len(node.children) == 1 and whole
