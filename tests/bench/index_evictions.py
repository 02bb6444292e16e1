"""Evictions of a real prefix cache on spans with many nodes: how long the queue takes to name a victim, and the rest of an eviction.

Each request follows a stored sequence for a while (its path is used, an edge is cut) and branches off; the budget is what the
cache held when it was full, so each makes room for itself: leaves go, interior nodes merge into their child.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kvlab.allocator import Ledger
from kvlab.cache import PrefixCache
from kvlab.cache.victims import Victims
from kvlab.events import Event, NullLog
from kvlab.lab.span_model import SpanModel
from kvlab.layers import Store
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import LayerGroup, Shape
from kvlab.trie import Node
from kvlab.workloads.request import Request

_GRID, _PROMPT, _STEP = 10, 200, 40


@dataclass(slots=True)
class Evictions:
    """What was seen.

    Attributes:
        nodes: Nodes in the trie when the budget was reached, and at the end.
        picks_ns: Of each question for a victim, the nanoseconds until the queue named one (or none).
        whole_ns: Of each eviction, the nanoseconds in all: the pick, merging or freeing, the event.
        merged: How many victims were interior nodes.
    """

    nodes: tuple[int, int] = (0, 0)
    picks_ns: list[int] = field(default_factory=list[int])
    whole_ns: list[int] = field(default_factory=list[int])
    merged: int = 0


def watch(nodes: int, evictions: int) -> Evictions:
    """Fill a cache with `nodes` nodes, then run requests until there were `evictions`."""
    policy = Policy(capture_grid=_GRID, prefill_chunk=_PROMPT)
    model, log, seen = SpanModel(Shape("bench", (LayerGroup("kv", (0,), 1),))), NullLog(), Evictions()
    runner = Runner(model, policy, log)
    cache = _Watched(model.stores, policy, Ledger(model.meter, log.append), log.append, seen)
    runner.cache = cache
    rng = random.Random(nodes)
    stems: list[tuple[int, ...]] = []
    while cache.trie.nodes < nodes:
        base = rng.choice(stems)[: rng.randrange(_PROMPT)] if stems and rng.random() < 0.5 else ()
        stems.append((*base, *_fresh(rng, _PROMPT - len(base))))
        _run(runner, stems[-1])
    full = cache.trie.nodes
    cache.policy = policy.replace(budget_bytes=cache.counted)
    while len(seen.whole_ns) < evictions:
        # half of what is asked for is recent, as in a conversation
        stem = rng.choice(stems[-100:] if rng.random() < 0.5 else stems)
        stems.append((*stem[: rng.randrange(len(stem))], *_fresh(rng, _STEP)))
        _run(runner, stems[-1])
    seen.nodes = (full, cache.trie.nodes)
    return seen


class _TimedVictims(Victims):
    __slots__ = ("_seen",)

    def __init__(self, protection: Callable[[Node], str], seen: Evictions) -> None:
        super().__init__(protection)
        self._seen = seen

    def pop(self) -> Node | None:
        begun = time.perf_counter_ns()
        node = super().pop()
        self._seen.picks_ns.append(time.perf_counter_ns() - begun)
        return node


class _Watched(PrefixCache):
    def __init__(self, stores: Sequence[Store], policy: Policy, ledger: Ledger, emit: Callable[[Event], None], seen: Evictions) -> None:
        super().__init__(stores, policy, ledger, emit)
        self._seen = seen
        self._victims = _TimedVictims(self.protection, seen)
        self.registry.on_growth = self._victims.push

    def _evict(self, node: Node) -> None:
        self._seen.merged += bool(node.children)
        begun = time.perf_counter_ns()
        super()._evict(node)
        self._seen.whole_ns.append(self._seen.picks_ns[-1] + time.perf_counter_ns() - begun)


def _run(runner: Runner, tokens: tuple[int, ...]) -> None:
    for _ in runner.step(Request(tokens=tokens, max_new=0)):
        pass


def _fresh(rng: random.Random, tokens: int) -> list[int]:
    return rng.choices(range(1, 2**20), k=tokens)
