"""What stands in a cache before a live run is stepped, as events: nodes and snapshots made by earlier requests.

Invariants: only numbers are taken, no array and no snapshot is held; the events are numbered up to -1, before any of the run.
"""

from __future__ import annotations

from kvlab.cache import Cache
from kvlab.events import BytesRead, Event, FrontierMoved, NodeBorn, SnapshotPlaced, SnapshotTaken


def standing(cache: Cache, closing: BytesRead | None = None) -> list[Event]:
    """Return events that build the trie and its snapshots as they stand; `closing` are the bytes after the last request."""
    made: list[Event] = []
    for node in cache.trie.walk():
        parent = -1 if node.parent is None else node.parent.id
        made.append(NodeBorn(node=node.id, parent=parent, start=node.start, end=node.end, user=node.user))
        for group, snapshot in enumerate(node.snapshots):
            if snapshot is not None:
                told = SnapshotTaken(
                    snapshot=snapshot.id,
                    group=group,
                    layer=cache.layers[group].kind,
                    start=snapshot.start,
                    end=snapshot.end,
                    state=snapshot.state,
                    counted=snapshot.counted,
                    retained=snapshot.retained,
                )
                made += [told, SnapshotPlaced(snapshot=snapshot.id, node=node.id)]
    made.append(FrontierMoved(node=cache.path.frontier.id))
    if closing is not None and closing.phase:
        names = BytesRead.__slots__
        made.append(BytesRead(**{name: getattr(closing, name) for name in names}))
    for place, event in enumerate(made):
        event.seq, event.request, event.source = place - len(made), 0, "standing"
    return made
