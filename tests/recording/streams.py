"""Random lawful streams of events, and an oracle that replays them in plain dicts, written apart from the folds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.events import (
    BufferChanged,
    BytesRead,
    ChunkRan,
    Event,
    Evicted,
    FrontierMoved,
    Log,
    Matched,
    NodeBorn,
    NodeMerged,
    NodeRanked,
    NodeRemoved,
    NodeSplit,
    RequestBegan,
    RequestClosed,
    SnapshotClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
    TokenOut,
    Warned,
)
from kvlab.policy import Policy
from kvlab.recording import Manifest

PRIVATE = "the prompt nobody may read"
SITES = (None, "kvlab/cache/a.py:3 A.f", "kvlab/cache/a.py:9 A.g\nrun.py:1 <module>")


def manifest(**changes: Any) -> Manifest:
    given: dict[str, Any] = {"model": "tiny", "policy": Policy(), "workload": "random", "seed": 7, "source": "lab"}
    return Manifest.now(**(given | changes))


@dataclass
class _Node:
    parent: int
    start: int
    end: int
    children: set[int] = field(default_factory=set)


class _Stream:
    """Walks at random through what a cache may do, and tells it as events."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        ticks = iter(range(10**9))
        self.log = Log("lab", clock=lambda: next(ticks) / 1000)
        self.nodes = {0: _Node(-1, 0, 0)}
        self.snapshots: dict[int, str] = {}
        self.next_node = 1
        self.next_snapshot = 1
        self.log.append(NodeBorn(node=0))

    def born(self) -> None:
        parent = self.rng.choice(list(self.nodes))
        start = self.nodes[parent].end
        end = start + self.rng.randint(1, 40)
        self._add(self.next_node, _Node(parent, start, end))
        self.log.append(NodeBorn(node=self.next_node, parent=parent, start=start, end=end, user=self.rng.random() < 0.2))
        self.next_node += 1

    def split(self) -> None:
        long = [name for name, node in self.nodes.items() if node.end - node.start > 1]
        if not long:
            return
        name = self.rng.choice(long)
        node, head = self.nodes[name], self.next_node
        cut = self.rng.randint(node.start + 1, node.end - 1)
        self.nodes[node.parent].children.discard(name)
        self._add(head, _Node(node.parent, node.start, cut, {name}))
        node.parent, node.start = head, cut
        self.log.append(NodeSplit(node=name, head=head, start=self.nodes[head].start, end=cut))
        self.next_node += 1

    def merge(self) -> None:
        single = [name for name, node in self.nodes.items() if name != 0 and len(node.children) == 1]
        if not single:
            return
        head = self.rng.choice(single)
        gone = self.nodes.pop(head)
        (name,) = gone.children
        node = self.nodes[name]
        self.nodes[gone.parent].children.discard(head)
        self.nodes[gone.parent].children.add(name)
        node.parent, node.start = gone.parent, gone.start
        self.log.append(NodeMerged(node=name, head=head, start=node.start, end=node.end))

    def remove(self) -> None:
        leaves = [name for name, node in self.nodes.items() if name != 0 and not node.children]
        if not leaves:
            return
        name = self.rng.choice(leaves)
        gone = self.nodes.pop(name)
        self.nodes[gone.parent].children.discard(name)
        self.log.append(NodeRemoved(node=name))
        self.log.append(Evicted(node=name, start=gone.start, end=gone.end, freed=3))

    def frontier(self) -> None:
        self.log.append(FrontierMoved(node=self.rng.choice(list(self.nodes))))

    def taken(self) -> None:
        state = self.rng.choice(["lazy", "owned", "view"])
        counted = 0 if state == "lazy" else self.rng.randint(1, 99)
        name = self.next_snapshot
        self.snapshots[name] = state
        taken = SnapshotTaken(snapshot=name, group=name % 3, layer="kv", start=name, end=2 * name, state=state, counted=counted, retained=2 * counted)
        taken.call_site = self.rng.choice(SITES)
        self.log.append(taken)
        self.next_snapshot += 1

    def placed(self) -> None:
        if self.snapshots:
            self.log.append(SnapshotPlaced(snapshot=self.rng.choice(list(self.snapshots)), node=self.rng.choice(list(self.nodes))))

    def owned(self) -> None:
        lazy = [name for name, state in self.snapshots.items() if state == "lazy"]
        if lazy:
            name = self.rng.choice(lazy)
            self.snapshots[name] = "owned"
            site = self.rng.choice(SITES)
            self.log.append(SnapshotOwned(snapshot=name, counted=self.rng.randint(1, 99), retained=self.rng.randint(1, 99), call_site=site))

    def closed(self) -> None:
        if self.snapshots:
            name = self.rng.choice(list(self.snapshots))
            del self.snapshots[name]
            self.log.append(SnapshotClosed(snapshot=name))

    def reading(self, phase: str = "", source: str = "") -> None:
        names = ("weights", "live_logical", "live", "counted", "snapshots", "pool", "active", "unattributed", "peak", "budget", "nodes", "footprint")
        values = {name: self.rng.randint(0, 10**12) for name in names}
        paged_out = self.rng.choice([None, self.rng.randint(0, 10**12)])
        self.log.append(BytesRead(phase=phase or self.rng.choice(["begin", "prefill", "close"]), source=source, paged_out=paged_out, **values))

    def ranked(self) -> None:
        node, used, protection = self.rng.choice(list(self.nodes)), self.rng.randint(0, 9), self.rng.choice(["", "", "frontier"])
        keys = [self.rng.choice([0.5, 1.0, 2.0]) for _ in range(3)] if self.rng.random() < 0.9 else [None] * 3
        self.log.append(NodeRanked(node=node, protection=protection, used=used, uses=used, first=keys[0], second=keys[1], third=keys[2]))

    def resized(self) -> None:
        group, offset, capacity = self.rng.randrange(3), self.rng.randint(0, 40), self.rng.choice([0, 8, 64])
        layer = ("kv", "rotating", "draft_kv")[group]
        self.log.append(BufferChanged(group=group, layer=layer, offset=offset, start=self.rng.randint(0, offset), capacity=capacity, retained=capacity * 3))

    def told(self) -> None:
        end, offset = self.rng.randint(2, 50), self.rng.choice([None, self.rng.randint(2, 50)])
        token = TokenOut(index=1, token=99, text=PRIVATE, offset=offset)
        self.log.append(self.rng.choice([Warned(message="a figure"), ChunkRan(start=1, end=end, seconds=0.5), token]))

    def _add(self, name: int, node: _Node) -> None:
        self.nodes[name] = node
        self.nodes[node.parent].children.add(name)


def random_events(seed: int, requests: int = 6, steps: int = 20) -> list[Event]:
    """Return a lawful stream: some requests, each with random changes of trie, snapshots and bytes; the last may stay open."""
    rng = random.Random(seed)
    stream = _Stream(rng)
    usual: list[Callable[[], None]] = [stream.born, stream.split, stream.taken, stream.placed, stream.owned, stream.told]
    rarer: list[Callable[[], None]] = [stream.merge, stream.remove, stream.frontier, stream.closed, stream.reading, stream.ranked, stream.resized]
    for request in range(1, requests + 1):
        stream.log.request = request
        tokens = rng.randint(1, 500)
        stream.log.append(RequestBegan(label=f"r{request}", tokens=tokens, limit=8, text=PRIVATE, prompt_tokens=PRIVATE))
        stream.log.append(Matched(tokens=tokens, matched=5, cached=rng.randint(0, 5), left=3, reason="nothing_shared", layer="kv"))
        for _ in range(rng.randint(0, steps)):
            rng.choice(usual * 2 + rarer)()
        if request < requests or rng.random() < 0.5:
            stream.reading("close")
            if rng.random() < 0.7:
                stream.reading("close", source="twin")
            stream.log.append(RequestClosed(generated=4, stop="limit", ttft_s=0.5, prefill_s=0.25, decode_s=1.5, peak=rng.randint(0, 99), text=PRIVATE))
    return list(stream.log.drain())


@dataclass
class World:
    """What there is at a moment, in plain dicts."""

    nodes: dict[int, dict[str, Any]] = field(default_factory=dict)
    snapshots: dict[int, dict[str, Any]] = field(default_factory=dict)
    ranks: dict[int, NodeRanked] = field(default_factory=dict)
    used_at: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, dict[str, Any]] = field(default_factory=dict)
    frontier: int | None = None
    reading: BytesRead | None = None
    request: int = 0

    def held(self) -> dict[int, dict[str, Any]]:
        """The live buffers by layer group: what lies before their capacity is gone."""
        return {group: one | {"start": max(one["start"], one["offset"] - one["capacity"])} for group, one in self.buffers.items()}

    def order(self) -> list[int]:
        """The nodes that eviction may take, first one first."""
        known = [self.ranks[node] for node in self.nodes if node in self.ranks and not self.ranks[node].protection]
        return [one.node for one in sorted((one for one in known if one.first is not None), key=lambda one: (one.first, one.second, one.third, one.node))]

    def active(self) -> set[int]:
        path: set[int] = set()
        node = self.frontier
        while node is not None and node in self.nodes:
            path.add(node)
            node = self.nodes[node]["parent"]
        return path


def replay(events: Sequence[Event], seq: int) -> World:
    """Return the world right after event `seq`, found by doing what each event says, one after another."""
    world = World()
    for event in events:
        if event.seq > seq:
            break
        world.request = event.request
        _do_to_nodes(world.nodes, event)
        _do_to_snapshots(world.snapshots, event)
        _do_to_buffers(world.buffers, event)
        if isinstance(event, NodeRanked):
            world.ranks[event.node] = event
            world.used_at.setdefault(event.used, event.seq)
        elif isinstance(event, FrontierMoved):
            world.frontier = event.node
        elif isinstance(event, BytesRead) and event.source != "twin":
            world.reading = event
    return world


def _do_to_nodes(nodes: dict[int, dict[str, Any]], event: Event) -> None:
    if isinstance(event, NodeBorn):
        nodes[event.node] = {"parent": event.parent, "start": event.start, "end": event.end, "user": event.user, "request": event.request}
    elif isinstance(event, NodeSplit):
        node = nodes[event.node]
        nodes[event.head] = {"parent": node["parent"], "start": node["start"], "end": event.end, "user": False, "request": event.request}
        node |= {"parent": event.head, "start": event.end}
    elif isinstance(event, NodeMerged):
        head = nodes.pop(event.head)
        nodes[event.node] |= {"parent": head["parent"], "start": head["start"]}
    elif isinstance(event, NodeRemoved):
        del nodes[event.node]


def _do_to_snapshots(snapshots: dict[int, dict[str, Any]], event: Event) -> None:
    if isinstance(event, SnapshotTaken):
        names = ("group", "layer", "start", "end", "state", "counted", "retained", "request", "call_site")
        snapshots[event.snapshot] = {"node": None} | {name: getattr(event, name) for name in names}
    elif isinstance(event, SnapshotPlaced):
        snapshots[event.snapshot]["node"] = event.node
    elif isinstance(event, SnapshotOwned):
        snapshots[event.snapshot] |= {"state": "owned", "counted": event.counted, "retained": event.retained, "call_site": event.call_site}
    elif isinstance(event, SnapshotClosed):
        del snapshots[event.snapshot]


def _do_to_buffers(buffers: dict[int, dict[str, Any]], event: Event) -> None:
    if isinstance(event, BufferChanged):
        buffers[event.group] = {name: getattr(event, name) for name in ("layer", "offset", "start", "capacity", "retained")}
    offset = event.cached if isinstance(event, Matched) else event.end if isinstance(event, ChunkRan) else None
    if isinstance(event, TokenOut):
        offset = event.offset
    for one in buffers.values():
        if offset is not None and one["layer"] != "draft_kv":
            one["offset"] = offset
