"""One group of sliding-window or chunked layers on either storage: write numbers that count up from 1, and read back what the windows hold."""

# pyright: standard
from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import ChunkedKVCache, RotatingKVCache

from kvlab.allocator import Ledger
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import Snapshot, SnapshotRegistry
from kvlab.layers.mlx_chunked import MLXChunkedStore
from kvlab.layers.mlx_state import MLXRotatingStore
from kvlab.layers.spans import Runs, slots
from kvlab.layers.spans_chunked import SpanChunkedStore
from kvlab.layers.spans_state import SpanStateStore
from kvlab.layers.state import StateLayers
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from kvlab.trie import Node

ROW_BYTES = 2 * 2 * 3 * 4


class WindowBench:
    """Two sliding-window layers under their rules, or two chunked ones."""

    def __init__(self, storage: str, window: int, *, chunked: bool = False) -> None:
        group = LayerGroup("rotating", (0, 1), ROW_BYTES, ROW_BYTES * window, window, chunked=chunked)
        log = Log()
        self.window = window
        self.registry = SnapshotRegistry(Ledger(SpanMeter(0), log.append), log.append)
        self.store: Any = _spans(group) if storage == "spans" else _arrays(group)
        self.layers = StateLayers(0, self.store, Policy(), self.registry)
        self._last = 0
        self._said: dict[int, dict[int, int]] = {}

    @property
    def offset(self) -> int:
        return self.layers.offset

    def say(self, count: int) -> None:
        """Write the next `count` numbers in one pass."""
        at = self.offset
        values = list(range(self._last + 1, self._last + 1 + count))
        self._last += count
        self.layers.will_write(count)
        if isinstance(self.store, SpanStateStore):
            self.store.writer = len(self._said)
            self._said[self.store.writer] = {at + place: value for place, value in enumerate(values)}
            self.store.append(count)
        else:
            rows = mx.array(np.repeat(np.array(values, dtype=np.float32), 3).reshape(1, 1, count, 3))
            for cache in self.store.caches:
                if isinstance(cache, ChunkedKVCache):
                    # llama4 asks for this when a forward begins
                    cache.maybe_trim_front()
                cache.update_and_fetch(rows, -rows)
                mx.eval(cache.keys, cache.values)
        self.layers.wrote(count)

    def singles(self, count: int) -> None:
        """Write the next `count` numbers one by one."""
        for _ in range(count):
            self.say(1)

    def take(self) -> Snapshot:
        """Return a snapshot at the offset."""
        snapshot = self.layers.snapshot(0)
        assert snapshot is not None
        return snapshot

    def capture(self, end: int) -> Snapshot:
        """Return a capture at offset `end`, inside or at the end of the last write."""
        snapshot = self.layers.capture(0, end)
        assert snapshot is not None
        return snapshot

    def place(self, snapshot: Snapshot) -> Node:
        """Put a snapshot on a node and return the node."""
        node = Node(9, None, b"", 0)
        node.snapshots = [None]
        self.registry.place(snapshot, node)
        return node

    def held(self) -> list[int]:
        """Return the last window's numbers, oldest first."""
        return self.buffer()[-min(self.offset, self.window) :] if self.offset else []

    def buffer(self) -> list[int]:
        """Return every number that the live buffers hold, oldest first: a prefill leaves more than a window."""
        if isinstance(self.store, SpanChunkedStore):
            return self._numbers(slots(self.store._runs, self.store._held_from, self.offset))
        if isinstance(self.store, SpanStateStore):
            rows = min(self.store.capacity, self.offset)
            return self._numbers(slots(self.store._runs, self.offset - rows, self.offset))
        found: list[list[int]] = []
        for cache in self.store.caches:
            chunked = isinstance(cache, ChunkedKVCache)
            keys, values = (np.array(one if chunked else cache._temporal_order(one)) for one in (cache.keys, cache.values))
            assert np.array_equal(keys, -values)
            found.append(keys[0, 0, : self.offset - (cache.start_position if chunked else 0), 0].astype(int).tolist())
        assert found[0] == found[1]
        return found[0]

    def _numbers(self, runs: Runs) -> list[int]:
        return [self._said[run.writer][at] for run in runs for at in range(run.start, run.end)]


def _spans(group: LayerGroup) -> SpanStateStore:
    return SpanChunkedStore(group) if group.chunked else SpanStateStore(group)


def _arrays(group: LayerGroup) -> MLXRotatingStore | MLXChunkedStore:
    if group.chunked:
        return MLXChunkedStore(group, [ChunkedKVCache(group.window), ChunkedKVCache(group.window)])
    return MLXRotatingStore(group, [RotatingKVCache(group.window), RotatingKVCache(group.window)])
