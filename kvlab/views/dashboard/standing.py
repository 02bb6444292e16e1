"""What stands in a cache before a live run is stepped, as events: nodes and snapshots made by earlier requests.

Invariants: only numbers are taken, no array and no snapshot is held; the events are numbered up to -1, before any of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kvlab.cache import Cache
from kvlab.events import BytesRead, Event, FrontierMoved, NodeBorn, SnapshotPlaced, SnapshotTaken
from kvlab.lab.source import Source
from kvlab.views.dashboard.texts import Row


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


def standing_buffers(cache: Cache) -> dict[int, tuple[int, int]]:
    """Return by layer group how many tokens the live buffers have seen, and how many they have room for."""
    return {group: (layer.store.offset, layer.store.capacity) for group, layer in enumerate(cache.layers)}


def standing_texts(on: Source) -> Iterator[Row]:
    """Yield the texts of the tokens on each node's edge, as the model's tokenizer reads them; the row of node n stands under request -1 - n."""
    for node in on.cache.trie.walk():
        # of a pair of neighbours (a look-ahead of 1) the first is the position's own
        tokens = np.frombuffer(node.edge, dtype=np.int32).reshape(node.tokens, -1)[:, 0] if node.tokens else ()
        # what stands for an image has the top bit set, and no text
        if len(tokens) and min(tokens) >= 0:
            yield 0, -1 - node.id, node.start, [text for _, text in on.with_texts([int(token) for token in tokens])]
