"""Live buffers, layer group by layer group: how many tokens each has seen and how many it has room for, rebuilt from the events.

Where they stand is what was restored, evaluated and replied; the room follows from that by the rules of the buffers' own storage
(`kvlab.layers.spans_kv`, `spans_state`, `spans_chunked`), and is held against the live bytes of each reading.

Invariants: between steps all groups rest at one offset, which for a sliding window keeps counting past the window; a room that the
bytes of the last reading do not bear out is -1, not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvlab import events as ev
from kvlab.cache.paging import FREE_ALL
from kvlab.layers import KV_KINDS
from kvlab.layers.spans_chunked import SpanChunkedStore
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.layers.spans_state import SpanStateStore, State
from kvlab.recording.readings import PREDICTED
from kvlab.shape import LayerGroup, Shape
from kvlab.units import KIB

UNKNOWN = -1

SPARE = 2 * 2 * 16 * KIB
"""Bytes by which the two arrays of a layer's window or state may be larger than asked for: MLX hands out a kept buffer of up to two pages more (of
16 KiB on a Mac), and of at most twice the size (mlx 0.32, `BufferCache.reuse_from_cache`)."""


class Buffers:
    """The live buffers as events come.

    Attributes:
        rows: (seq, group, offset, room): from `seq` on, the buffers of `group` had seen `offset` tokens and had room for `room`. While a request
            is evaluated only a new room makes a row: the offset follows from chunks and tokens.
    """

    def __init__(self, shape: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self._groups = Shape.from_dict(dict(shape)).groups if shape else ()
        full = [group for group in self._groups if group.kind in KV_KINDS and group.bytes_per_token]
        self._full = SpanKVStore(LayerGroup("kv", (), sum(group.bytes_per_token for group in full), growth_step=full[0].growth_step)) if full else None
        self._windows = {place: _window(group) for place, group in enumerate(self._groups) if group.window}
        self._states = sum(group.state_bytes for group in self._groups if group.kind == "recurrent")
        self._spare = SPARE * sum(len(group.layers) for group in self._groups if group.window or group.state_bytes)
        self._shrinks = policy.get("live_buffer") == "shrink"
        self._known = False
        self._prompt = 0
        self._told: dict[int, tuple[int, int]] = {}
        # snapshots of windows by their number; those on a node by node and group
        self._taken: dict[int, ev.SnapshotTaken] = {}
        self._placed: dict[tuple[int, int], ev.SnapshotTaken] = {}
        self._offset = 0

    def stand(self, held: Mapping[int, tuple[int, int]]) -> None:
        """Begin with live buffers that were there before the events: by layer group the tokens they have seen and those they have room for."""
        for group, (offset, room) in held.items():
            self._offset = offset
            if store := self._windows.get(group):
                store.put(State((), room, 0), offset)
            elif self._full and self._groups[group].kind in KV_KINDS:
                self._full.append(offset)
                self._full.capacity = room

    def take(self, event: ev.Event) -> None:
        """Take the next event."""
        if isinstance(event, ev.RequestBegan):
            self._prompt = event.tokens
        elif isinstance(event, ev.SnapshotTaken) and event.group in self._windows:
            self._taken[event.snapshot] = event
        elif isinstance(event, ev.SnapshotPlaced) and (taken := self._taken.get(event.snapshot)):
            self._placed[event.node, taken.group] = taken
        elif self._moved(event):
            self._tell(event.seq, moving=isinstance(event, ev.ChunkRan | ev.TokenOut))

    def _moved(self, event: ev.Event) -> bool:
        if isinstance(event, ev.PagedIn):
            self._paged_in(event)
        elif isinstance(event, ev.Matched):
            self._matched(event)
        elif isinstance(event, ev.Warned) and event.message.startswith(FREE_ALL):
            self._drop()
        elif isinstance(event, ev.ChunkRan):
            self._write(event.end - self._offset, at_once=True)
        elif isinstance(event, ev.TokenOut):
            self._write(self._prompt + event.index - self._offset, at_once=False)
        elif isinstance(event, ev.BytesRead) and event.source != PREDICTED:
            self._read(event)
        else:
            return False
        return True

    def _paged_in(self, event: ev.PagedIn) -> None:
        for group, store in self._windows.items():
            if held := self._placed.get((event.node, group)):
                store.put(State((), held.end - held.start, 0), held.end)
                if event.end < held.end:
                    store.rewind(event.end)
        if self._full:
            # what was there beyond the node's beginning was let go before
            self._full.offset = min(self._full.offset, event.end)
            self._full.append(event.end - self._full.offset)
        self._offset = event.end

    def _matched(self, event: ev.Matched) -> None:
        self._rest_at(event.cached)
        if self._full and self._shrinks:
            self._full.shrink()

    def _rest_at(self, offset: int) -> None:
        # a table or a stranger may give a count below 0
        offset = max(0, offset)
        for store in self._windows.values():
            if store.offset > offset and store.can_rewind(offset):
                store.rewind(offset)
            elif store.offset != offset:
                store.drop()
        if self._full:
            self._full.offset = min(self._full.offset, offset)
            self._full.append(offset - self._full.offset)
        self._offset = offset

    def _drop(self) -> None:
        for store in self._stores():
            store.drop()
        self._offset = 0

    def _stores(self) -> list[SpanStateStore | SpanKVStore]:
        return [*self._windows.values(), *([self._full] if self._full else [])]

    def _write(self, tokens: int, *, at_once: bool) -> None:
        if tokens <= 0:
            return
        for store in self._stores():
            (store.append if at_once else store.append_each)(tokens)
        self._offset += tokens

    def _read(self, event: ev.BytesRead) -> None:
        if not event.live:
            self._drop()
        seen = self._seen(event.live_logical)
        # what was evaluated without being told (the token before a stop token), or taken back
        self._write(seen - self._offset, at_once=False)
        if seen < self._offset:
            self._rest_at(seen)
        beside = sum(store.live_retained() for store in self._windows.values()) + (self._states if self._offset else 0)
        if self._full and not beside:
            self._full.capacity, odd = divmod(event.live, self._full.group.bytes_per_token)
            self._known = not odd and self._full.capacity >= self._offset
            return
        over = event.live - beside - (self._full.live_retained() if self._full else 0)
        self._known = 0 <= over <= min(beside, self._spare)

    def _seen(self, logical: int) -> int:
        """Return the offset at which the buffers hold `logical` bytes, after single tokens or a rewind; the present one when none follows from that."""
        if not logical:
            return 0
        held = sum(store.live_logical() for store in self._stores()) + (self._states if self._offset else 0)
        if logical == held or not self._full or any(group.chunked for group in self._groups):
            # a window has more rows than its tokens right after a forward of several
            return self._offset
        inside = sum(group.bytes_per_token for group in self._groups)
        low = 0
        left = logical - self._states
        for window in sorted({group.window for group in self._groups if group.window}):
            step = min(window - low, left // inside)
            low, left = low + step, left - step * inside
            if low < window:
                return low
            inside -= sum(group.bytes_per_token for group in self._groups if group.window == window)
        return low + left // inside

    def _tell(self, seq: int, *, moving: bool) -> None:
        for place, group in enumerate(self._groups):
            if group.kind == "stateless":
                continue
            room = self._room(place, group)
            before = self._told.get(place, (UNKNOWN, UNKNOWN))
            if before != (before[0] if moving else self._offset, room):
                self._told[place] = self._offset, room
                self.rows.append((seq, place, self._offset, room))

    def _room(self, place: int, group: LayerGroup) -> int:
        store = self._windows.get(place) or (self._full if group.kind in KV_KINDS else None)
        return store.capacity if store and self._known else UNKNOWN


def _window(group: LayerGroup) -> SpanStateStore:
    return SpanChunkedStore(group) if group.chunked else SpanStateStore(group)
