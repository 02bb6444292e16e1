"""A cache as it is now, as events: nodes, snapshots, what eviction goes by, live buffers and bytes that earlier requests left.

Invariants: only numbers are taken, no array and no snapshot is held; the events are numbered up to -1, before any that follow.
"""

from __future__ import annotations

from kvlab.cache.cache import Cache
from kvlab.events import BufferChanged, BytesRead, Event, FrontierMoved, NodeBorn, SnapshotPlaced, SnapshotTaken

SOURCE = "present"
"""The source of these events."""


def present(cache: Cache, closing: BytesRead | None = None) -> list[Event]:
    """Return events that build a cache as it is; `closing` are the bytes after the last request."""
    made: list[Event] = []
    for node in cache.trie.walk():
        parent = -1 if node.parent is None else node.parent.id
        made.append(NodeBorn(node=node.id, parent=parent, start=node.start, end=node.end, user=node.user))
        for group, snapshot in enumerate(node.snapshots):
            if snapshot is not None:
                taken = SnapshotTaken(
                    snapshot=snapshot.id,
                    group=group,
                    layer=cache.layers[group].kind,
                    start=snapshot.start,
                    end=snapshot.end,
                    state=snapshot.state,
                    counted=snapshot.counted,
                    retained=snapshot.retained,
                )
                made += [taken, SnapshotPlaced(snapshot=snapshot.id, node=node.id)]
        made.append(cache.ranking.of(node))
    made.append(FrontierMoved(node=cache.path.frontier.id))
    for group, layer in enumerate(cache.layers):
        store = layer.store
        held = store.live_retained()
        made.append(BufferChanged(-1, 0.0, 0, SOURCE, group, layer.kind, store.offset, store.first, store.capacity, held, held))
    if closing is not None and closing.phase:
        made.append(BytesRead(**{name: getattr(closing, name) for name in BytesRead.__slots__}))
    for place, event in enumerate(made):
        event.seq, event.request, event.source = place - len(made), 0, SOURCE
    return made
