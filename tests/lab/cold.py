"""Cached against cold: every reply's logits as the lab computed them, beside those of an empty cache fed with the same tokens.

Chunk edges matter to the last bit: a row of a matrix product may be rounded otherwise when more rows are computed at once. So each
request carries the edges at which its own positions were evaluated; a restored run inherits those of the request that wrote it.
When no inherited chunk was cut in its middle the edges align, and the cold run repeats them exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np

from kvlab.events import ChunkRan, Matched, TokenOut
from kvlab.lab.lab import Lab
from kvlab.lab.twin import Twin
from kvlab.layers.mlx_rows import rows_of
from kvlab.layers.spans import Run
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.models import caches
from kvlab.models.mlx_model import MLXModel
from kvlab.policy import Policy
from kvlab.workloads import Request

TOLERANCE = 2e-5
"""Of the largest absolute logit: what other chunk edges may change in float32 (measured on SmolLM2: 2.4e-5 to 3.3e-5 of 36)."""


class Watched(MLXModel):
    """A model that keeps every decode's logits, and answers greedily."""

    seen: list[np.ndarray]
    fresh: Callable[[Any], list[Any]] = staticmethod(caches.made)
    """Makes the cold run's cache objects."""

    def decode(self, token: int, tokens: int = 1) -> list[int]:
        del tokens
        logits = self.logits((token,))
        self.seen.append(np.array(logits))
        return [next(self._replies, int(np.array(logits).argmax()))]


@dataclass
class Walk:
    """Requests run on the lab and on its twin, side by side, each compared with a cold run."""

    model: Watched
    policy: Policy
    edges: dict[int, list[int]] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    aligned: int = 0
    numeric: int = 0

    def __post_init__(self) -> None:
        self.lab = Lab(self.model, self.policy)
        self.twin = Twin(self.model.shape, self.policy)
        self.number = 0
        self.only_kv = all(group.kind == "kv" for group in self.model.shape.groups)
        self.twin_found: tuple[int, int, int, str] | None = None

    def run(self, request: Request) -> None:
        self.number += 1
        self.model.seen = []
        found: tuple[int, int, int, str] | None = None
        own: list[int] = []
        reply: list[int] = []
        for event in self.lab.step(request, self.policy):
            if isinstance(event, Matched):
                found = (event.matched, event.cached, event.left, event.reason)
            elif isinstance(event, ChunkRan):
                own.append(event.end)
            elif isinstance(event, TokenOut) and event.token is not None:
                reply.append(event.token)
        tokens = request.tokens
        own += range(len(tokens), len(tokens) + len(reply))
        runs = self._follow_on_twin(Request(tokens=tokens, generated=tuple(reply), cancel_after=request.cancel_after))
        self.edges[self.number] = own
        assert found == self.twin_found
        self._same_as_twin()
        if reply:
            self._compare([*tokens, *reply], len(tokens), own, runs)

    def _follow_on_twin(self, request: Request) -> tuple[Run, ...]:
        runs: tuple[Run, ...] = ()
        for event in self.twin.step(request, self.policy):
            if isinstance(event, Matched):
                stores = [layer.store for layer in self.twin.cache.layers]
                runs = next(store.contents(0, event.cached) for store in stores if isinstance(store, SpanKVStore))
                self.starts[self.number] = event.cached
                self.twin_found = (event.matched, event.cached, event.left, event.reason)
        return runs

    def _same_as_twin(self) -> None:
        real, twin = self.lab.cache, self.twin.cache
        for mine, theirs in zip(real.layers, twin.layers, strict=True):
            assert mine.offset == theirs.offset
            if mine.kind in ("kv", "rotating"):
                assert mine.store.capacity == theirs.store.capacity
                assert mine.store.live_logical() == theirs.store.live_logical()
                # the allocator may hand out a pooled buffer that is bigger than what was asked for
                assert rows_bytes(mine.store) == theirs.store.live_retained() <= mine.store.live_retained()
        assert (real.trie.nodes, real.counted) == (twin.trie.nodes, twin.counted)
        nodes = sorted((node.start, node.end, node.counted, node.edge) for node in real.trie.walk())
        assert nodes == sorted((node.start, node.end, node.counted, node.edge) for node in twin.trie.walk())

    def _compare(self, tokens: list[int], prompt: int, own: list[int], runs: Sequence[Run]) -> None:
        inherited, aligned = self._inherited(runs)
        # A node's whole state and its KV span may come from two requests, each with its own chunk edges.
        aligned = aligned and (self.only_kv or not runs)
        cold = self._cold(tokens, prompt, inherited + own)
        self.aligned += aligned
        self.numeric += not aligned
        for mine, theirs in zip(self.model.seen, cold, strict=True):
            if aligned:
                assert np.array_equal(mine, theirs)
                continue
            room = TOLERANCE * float(np.abs(theirs).max())
            assert float(np.abs(mine - theirs).max()) <= room
            second, first = np.sort(theirs)[-2:]
            assert mine.argmax() == theirs.argmax() or first - second <= 2 * room

    def _inherited(self, runs: Sequence[Run]) -> tuple[list[int], bool]:
        edges: list[int] = []
        aligned = True
        for run in runs:
            theirs = self.edges[run.writer]
            aligned = aligned and run.end in theirs and (run.start in theirs or run.start == self.starts[run.writer])
            edges += [edge for edge in theirs if run.start < edge < run.end] + [run.end]
        return edges, aligned

    def _cold(self, tokens: list[int], prompt: int, edges: list[int]) -> list[np.ndarray]:
        live = self.model.fresh(self.model.net)
        found: list[np.ndarray] = []
        at = 0
        for edge in edges:
            logits = self.model.net(mx.array(tokens[at:edge])[None], cache=live)
            if edge >= prompt:
                found.append(np.array(logits[0, -1]))
            else:
                mx.eval([cache.state for cache in live])
            at = edge
        return found


def rows_bytes(store: Any) -> int:
    return sum(one.nbytes for cache in store.caches for one in rows_of(cache))


def sequence(rng: random.Random, vocabulary: int, requests: int, most: int, reply: int) -> list[Request]:
    """Return requests that share prefixes, repeat, diverge and are cancelled."""
    stems = [tuple(rng.randrange(vocabulary) for _ in range(rng.randrange(most // 3, most))) for _ in range(2)]
    found: list[Request] = []
    for _ in range(requests):
        stem = rng.choice(stems)
        cut = len(stem) if rng.random() < 0.3 else rng.randrange(1, len(stem) + 1)
        tail = tuple(rng.randrange(vocabulary) for _ in range(rng.choice([0, 1, rng.randrange(most // 3)])))
        tokens = stem[:cut] + tail
        cancel = rng.randrange(1, len(tokens) + 1) if rng.random() < 0.15 else None
        found.append(Request(tokens=tokens, max_new=rng.randrange(reply + 1), cancel_after=cancel, ignore_stop=True))
        stems[rng.randrange(2)] = tokens if rng.random() < 0.3 else stems[0]
    return found
