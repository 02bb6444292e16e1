"""The eviction queue picks what a walk over the whole trie would pick."""

from __future__ import annotations

import random

import pytest

from kvlab.allocator import Ledger
from kvlab.cache import PrefixCache
from kvlab.cache.victims import ORDERS, Victims
from kvlab.events import Log
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import LayerGroup, Shape
from kvlab.trie import Node, Trie, to_keys
from kvlab.workloads import Request

SHAPE = Shape("unit", (LayerGroup("kv", (0,), 1),))


class Walking(PrefixCache):
    """A cache that checks each victim against a walk."""

    picked = 0

    def _evict(self, node: Node) -> None:
        candidates = [one for one in self.trie.walk() if not self.protection(one)]
        assert node is min(candidates, key=lambda one: (*ORDERS[self.policy.evict_order](one), one.id))
        Walking.picked += 1
        super()._evict(node)

    def evict(self, moment: str) -> None:
        super().evict(moment)
        if self.can_evict(moment):
            assert all(self.protection(node) for node in self.trie.walk())


@pytest.mark.parametrize("order", ["lru", "fifo", "lfu", "cost"])
@pytest.mark.parametrize("protect", ["frontier_and_branches", "active_path"])
@pytest.mark.parametrize("seed", range(6))
def test_queue_equals_walk(seed: int, protect: str, order: str) -> None:
    rng = random.Random(seed)
    policy = Policy(budget_bytes=rng.choice([5, 40, 120]), capture_grid=16, prefill_chunk=8).replace(protect=protect, evict_order=order)
    model, log = SpanModel(SHAPE), Log()
    runner = Runner(model, policy, log)
    runner.cache = Walking(model.stores, policy, Ledger(model.meter, log.append), log.append)
    before = Walking.picked
    stems = [tuple(rng.randrange(1, 9) for _ in range(rng.randrange(4, 40))) for _ in range(5)]
    for _ in range(60):
        stem = rng.choice(stems)
        tokens = stem[: rng.randrange(1, len(stem) + 1)] + tuple(rng.randrange(1, 9) for _ in range(rng.randrange(12)))
        for _ in runner.step(Request(tokens=tokens, max_new=rng.randrange(6))):
            pass
    assert Walking.picked > before


def test_nodes_that_left_or_were_pushed_again_do_not_stay_in_the_queue() -> None:
    trie, victims = Trie(Log().append), Victims(lambda _: "")
    stay = [trie.append(trie.root, to_keys([token])) for token in range(10)]
    for node in stay:
        victims.push(node)
    for token in range(2_000):
        left = trie.append(trie.root, to_keys([100 + token]))
        left.used = 1 + token
        victims.push(left)
        trie.remove(left)
        grows = stay[token % 10]
        grows.counted += 1
        victims.push(grows)
    assert len(victims._heap) <= 64
    assert [victims.pop() for _ in range(11)] == [*sorted(stay, key=lambda one: (-one.counted, one.id)), None]
