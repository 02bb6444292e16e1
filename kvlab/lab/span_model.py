"""The twin's model: a shape instead of weights. It writes spans, and answers with tokens that match nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from kvlab.allocator import Reading
from kvlab.layers import KV_KINDS
from kvlab.layers.spans_chunked import SpanChunkedStore
from kvlab.layers.spans_hidden import SpanHiddenStore
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.layers.spans_state import SpanStateStore
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads.request import Request, Sampling, Segment
from kvlab.workloads.segments import chat_segments
from kvlab.workloads.streams import FIRST_REPLY, Fresh
from kvlab.workloads.text_tokens import message_ends, message_tokens, request_tokens

SpanStore: TypeAlias = SpanKVStore | SpanStateStore | SpanHiddenStore


class NoText:
    """The twin's decoder: its replies are tokens without text."""

    def add(self, token: int) -> str:
        """Return no text."""
        del token
        return ""

    def finish(self) -> str:
        """Return no text."""
        return ""


class SpanMeter:
    """The twin's allocator: in use is exactly what the owners retain; it has no pool."""

    measures = False

    def __init__(self, weights: int) -> None:
        self._weights = weights
        self._peak = 0

    def read(self, retained: int = 0) -> Reading:
        """Return the counters now: `retained` bytes are in use."""
        self._peak = max(self._peak, retained)
        return Reading(active=retained, pool=0, peak=self._peak)

    def weights(self) -> int:
        """Return the bytes of the weights."""
        return self._weights

    def reset_peak(self) -> None:
        """Begin a new peak."""
        self._peak = 0

    def footprint(self) -> None:
        """Return None: a twin's bytes are no process's."""

    def clear_pool(self) -> int:
        """Return 0: there is no pool."""
        return 0


class SpanModel:
    """A model made of spans (`kvlab.runner.model.Model`)."""

    longest_run = sys.maxsize

    def __init__(self, shape: Shape) -> None:
        self.name = shape.name
        self.shape = shape
        self.stop_tokens: frozenset[int] = frozenset()
        self.stores = [store_for(group) for group in shape.groups if group.kind != "stateless"]
        self._targets: list[SpanStore] = []
        self._drafts: list[SpanStore] = []
        self.meter = SpanMeter(shape.weights_bytes)
        self.origin = {"shape": shape.name}
        self._fresh = Fresh(FIRST_REPLY)
        self._given: Iterator[int] | None = None

    def encode(self, request: Request) -> Sequence[int]:
        """Return explicit tokens as they are, text as one token a word (`kvlab.workloads.text_tokens`)."""
        return request_tokens(request)

    def message_ends(self, request: Request, tokens: Sequence[int]) -> Sequence[int]:
        """Return the offsets at which chat messages end: the request's own, or those of its messages as one token a word."""
        del tokens
        return request.ends or message_ends(request.messages)

    def segments(self, request: Request, tokens: Sequence[int]) -> Sequence[Segment]:
        """Return the segments of the prompt `tokens`: the request's own, or those of its messages as one token a word."""
        return request.segments or chat_segments(request.messages, tokens, message_tokens)

    def decoder(self) -> NoText:
        """Return a decoder without text."""
        return NoText()

    def unload(self) -> None:
        """Do nothing: span counts have no weights."""

    def load(self) -> None:
        """Do nothing."""

    def begin(self, request: int, sampling: Sampling, replies: Sequence[int] | None) -> None:
        """Get ready for request number `request`; `replies` are emitted instead of fresh tokens."""
        del sampling
        for store in self.stores:
            store.writer = request
        self._targets = [store for store in self.stores if store.group.kind != "draft_kv"]
        self._drafts = [store for store in self.stores if store.group.kind == "draft_kv"]
        self._given = None if replies is None else iter(replies)

    def prefill(self, tokens: Sequence[int]) -> None:
        """Write `tokens` slots."""
        for store in self._targets:
            store.append(len(tokens))

    def draft(self, tokens: int) -> None:
        """Write `tokens` slots of the draft layers."""
        for store in self._drafts:
            store.append(tokens)

    def decode(self, token: int, tokens: int = 1) -> list[int]:
        """Write `tokens` slots one by one and return the next tokens: given ones, or fresh ones that match nothing."""
        del token
        for store in self._targets:
            store.append(tokens, singly=True)
        return list(self._fresh.take(tokens) if self._given is None else islice(self._given, tokens))

    def end(self) -> None:
        """The twin builds nothing in advance."""


def store_for(group: LayerGroup) -> SpanStore:
    """Return the store of one layer group."""
    if group.kind in KV_KINDS:
        return SpanKVStore(group)
    if group.kind == "hidden":
        return SpanHiddenStore(group)
    return SpanChunkedStore(group) if group.chunked else SpanStateStore(group)
