"""A model without a net on mlx-lm's real cache objects: what it writes tells which tokens led there.

A key-value row of position p holds (token, digest of all tokens up to p, token p + 1 for a draft layer); values are the keys' negatives.
A recurrent state is the last three tokens and the digest, computed from the state that is there, as a real layer's would be.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import ArraysCache, KVCache, RotatingKVCache

from kvlab.lab.span_model import NoText, SpanMeter
from kvlab.layers import Store
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.mlx_store import stores_for
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request
from kvlab.workloads.request import Sampling, Segment
from kvlab.workloads.streams import FIRST_REPLY, Fresh

WINDOW = 4
ROW_BYTES = 2 * 3 * 4
STATE_BYTES = 4 * 4


def shape_of_kinds(kinds: Sequence[str], look_ahead: int) -> Shape:
    """Return the shape of layer kinds in layer order, at the prices of the arrays written here."""
    groups: list[LayerGroup] = []
    for kind in dict.fromkeys(kinds):
        layers = tuple(layer for layer, one in enumerate(kinds) if one == kind)
        row = ROW_BYTES * len(layers) if kind not in ("recurrent", "stateless") else 0
        state = {"recurrent": STATE_BYTES, "rotating": ROW_BYTES * WINDOW}.get(kind, 0) * len(layers)
        groups.append(LayerGroup(kind, layers, row, state, WINDOW if kind == "rotating" else 0))
    return Shape("+".join(kinds), tuple(groups), look_ahead=look_ahead)


def digests(tokens: Sequence[int]) -> list[int]:
    """Return for every position a number that depends on all tokens up to it, small enough for float32."""
    return list(accumulate(tokens, lambda seen, token: (seen * 31 + token) % 65521, initial=0))[1:]


def cold_rows(stream: Sequence[int], start: int, end: int, *, draft: bool) -> np.ndarray:
    """Return the key rows that a cold run over `stream` leaves at positions [start, end)."""
    seen = digests(stream)
    return np.array([(stream[at], seen[at], stream[at + 1] if draft else 0) for at in range(start, end)], dtype=np.float32).reshape(-1, 3)


def cold_state(stream: Sequence[int], end: int) -> tuple[np.ndarray, float]:
    """Return the state that a cold run leaves after `end` tokens: the last three and the digest."""
    tail = [0, 0, 0, *stream[:end]][-3:]
    return np.array(tail, dtype=np.float32), float(digests(stream[:end])[-1]) if end else 0.0


class ArrayModel:
    """Answers the Model protocol with arrays (`kvlab.runner.model.Model`)."""

    longest_run = 1

    def __init__(self, shape: Shape) -> None:
        self.name = shape.name
        self.shape = shape
        self.stop_tokens: frozenset[int] = frozenset()
        self.origin: dict[str, str] = {}
        self.meter = SpanMeter(0)
        self.caches: list[Any] = []
        self.stores: list[Store] = [self._store(group) for group in shape.groups if group.kind != "stateless"]
        self.stream: list[int] = []
        self._fresh = Fresh(FIRST_REPLY)
        self._replies: Iterator[int] = iter(())

    def encode(self, request: Request) -> list[int]:
        self.stream = list(request.tokens)
        return list(request.tokens)

    def message_ends(self, request: Request, tokens: Sequence[int]) -> Sequence[int]:
        del tokens
        return request.ends

    def segments(self, request: Request, tokens: Sequence[int]) -> Sequence[Segment]:
        del tokens
        return request.segments

    def decoder(self) -> NoText:
        return NoText()

    def unload(self) -> None:
        """Do nothing: these arrays are no weights."""

    def load(self) -> None:
        """Do nothing."""

    def begin(self, request: int, sampling: Sampling, replies: Sequence[int] | None) -> None:
        del request, sampling
        self._replies = iter(self._fresh) if replies is None else iter(replies)

    def prefill(self, tokens: Sequence[int]) -> None:
        at = self.stores[0].offset
        end = at + len(tokens)
        assert self.stream[at:end] == list(tokens)
        self._write(tokens, at, end, [store for store in self.stores if store.group.kind != "draft_kv"])

    def draft(self, tokens: int) -> None:
        drafts = [store for store in self.stores if store.group.kind == "draft_kv"]
        at = drafts[0].offset
        self._write(self.stream[at : at + tokens], at, at + tokens, drafts)

    def _write(self, tokens: Sequence[int], at: int, end: int, stores: Sequence[Store]) -> None:
        for store in stores:
            for cache in store.caches:  # pyright: ignore[reportAttributeAccessIssue]
                if store.group.kind == "recurrent":
                    fold(cache, tokens)
                else:
                    rows = mx.array(cold_rows(self.stream, at, end, draft=store.group.kind == "draft_kv"))[None, None]
                    cache.update_and_fetch(rows, -rows)
                mx.eval([one for one in (cache.cache if store.group.kind == "recurrent" else (cache.keys, cache.values)) if one is not None])

    def decode(self, token: int, tokens: int = 1) -> list[int]:
        del tokens
        self.stream.append(next(self._replies))
        self.prefill((token,))
        return self.stream[-1:]

    def end(self) -> None:
        """Nothing was built in advance."""

    def _store(self, group: LayerGroup) -> Store:
        made = {"kv": KVCache, "draft_kv": KVCache, "rotating": lambda: RotatingKVCache(WINDOW), "recurrent": lambda: ArraysCache(2)}[group.kind]
        caches = [made() for _ in group.layers]
        if group.kind == "draft_kv":
            return MLXKVStore(group, caches)
        # a layer without state is None in a model's list, as in mlx-lm's
        places: list[Any] = [None] * (max(group.layers) + 1)
        for layer, cache in zip(group.layers, caches, strict=True):
            places[layer] = cache
        return stores_for(places, Shape("one", (group,)))[0]


def fold(cache: Any, tokens: Sequence[int]) -> None:
    tail, seen = cache.cache
    last = [0, 0, 0] if tail is None else np.array(tail)[0, :, 0].astype(int).tolist()
    digest = 0 if seen is None else int(seen.item())
    for token in tokens:
        digest = (digest * 31 + token) % 65521
    cache[0] = mx.array(np.array([*last, *tokens][-3:], dtype=np.float32).reshape(1, 3, 1))
    cache[1] = mx.array(np.full((1, 1, 1), digest, dtype=np.float32))


def same_as_cold(store: Any, stream: Sequence[int], end: int) -> bool:
    """Whether every layer of an array store holds what a cold run over `stream[:end]` leaves."""
    kind, window = store.group.kind, store.group.window
    for cache in store.caches:
        if kind == "recurrent":
            tail, digest = cold_state(stream, end)
            if end and not (np.array_equal(np.array(cache[0])[0, :, 0], tail) and cache[1].item() == digest):
                return False
        elif end:
            first = max(0, end - window) if window else 0
            keys, values = (np.array(cache._temporal_order(one) if window else one) for one in (cache.keys, cache.values))
            held = min(end, keys.shape[2]) if window else end
            rows = keys[0, 0, max(0, held - (end - first)) : held]
            if not np.array_equal(rows, cold_rows(stream, first, end, draft=kind == "draft_kv")) or not np.array_equal(keys[:, :, :held], -values[:, :, :held]):
                return False
    return True
