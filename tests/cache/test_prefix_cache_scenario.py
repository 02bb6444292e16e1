"""Upstream scenarios 15-17 of prefix_cache_scenario_test: a hybrid with a draft layer, through the whole runner, on arrays and on spans.

Layers: recurrent, full attention, recurrent, full attention, and a draft layer; look-ahead 1; captures every 8 tokens and 4 before the end.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from kvlab.cache.check import Checker
from kvlab.events import Matched, Violation, Warned, WrongPositions
from kvlab.lab.span_model import SpanModel
from kvlab.layers import KV_KINDS
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.workloads import Request
from tests.cache.array_model import ArrayModel, shape_of_kinds
from tests.cache.harness import assert_holds

KINDS = ("recurrent", "kv", "recurrent", "kv", "draft_kv")
GRID, BEFORE_END = 8, 4
POLICY = Policy(capture_grid=GRID, capture_before_end=BEFORE_END, prefill_chunk=9)
REPLY = 7


class Steps:
    """A runner whose every request is checked: invariants after each step, contents after the begin, coverage after the close."""

    def __init__(self, storage: str) -> None:
        shape = shape_of_kinds(KINDS, look_ahead=1)
        self.runner = Runner(SpanModel(shape) if storage == "spans" else ArrayModel(shape), POLICY, checker=Checker())
        self.streams: dict[int, tuple[int, ...]] = {}

    def run(self, tokens: Sequence[int], reply: Sequence[int] = (), cancel_at: int | None = None) -> Matched:
        """Run a request and return what it found."""
        stream = (*tokens, *reply)
        self.streams[len(self.streams) + 1] = stream
        found = Matched()
        for event in self.runner.step(Request(tokens=tuple(tokens), generated=tuple(reply), cancel_after=cancel_at)):
            # a violation among these would be wrong contents, a broken rule, or that all layers were freed
            assert not isinstance(event, Violation | WrongPositions | Warned), event
            if isinstance(event, Matched):
                found = event
                assert_holds(self.runner.cache, self.streams, stream, found.cached)
        assert_holds(self.runner.cache, self.streams, stream, self.runner.cache.offset)
        self.assert_covered()
        return found

    def assert_covered(self) -> None:
        """Assert that every node has snapshots of the layers that keep a slot a token, spanning exactly its edge."""
        for node in self.runner.cache.trie.walk():
            if node.parent is not None:
                spans = {
                    layer.kind: (one.start, one.end)
                    for layer, one in zip(self.runner.cache.layers, node.snapshots, strict=True)
                    if layer.kind in KV_KINDS and one is not None
                }
                assert spans == {"kv": (node.start, node.end), "draft_kv": (node.start, node.end)}


@pytest.fixture(params=["spans", "mlx"])
def steps(request: pytest.FixtureRequest) -> Steps:
    return Steps(request.param)


def least(found: Matched, dropped: int) -> int:
    """Return the least that must be cached of a prompt that leaves the last one `dropped` tokens before its reply's end."""
    return found.matched - (GRID + BEFORE_END + 1 + REPLY + dropped)


def fresh(rng: random.Random, count: int) -> list[int]:
    """Return tokens among which a run of some length hardly comes twice."""
    return [rng.randrange(1, 5000) for _ in range(count)]


@pytest.mark.parametrize("keep", [REPLY, 0, 2, 5])
def test_15_ten_turns_reuse_what_the_bound_says(steps: Steps, keep: int) -> None:
    rng = random.Random(15)
    prompt = fresh(rng, 21)
    for turn in range(10):
        reply = fresh(rng, REPLY)
        found = steps.run(prompt, reply)
        if turn and keep == REPLY:
            # the reply's last token was never evaluated
            assert found.matched == found.cached == len(prompt) - 6 - 1
        elif turn:
            assert found.matched >= len(prompt) - 6 - 1
            assert found.cached >= least(found, REPLY - keep)
        if turn == 5:
            steps.run(fresh(rng, 30), fresh(rng, REPLY))
        prompt = [*prompt, *reply[:keep], *fresh(rng, 6)]


def test_16_a_cancelled_prefill_is_taken_up_where_it_stopped(steps: Steps) -> None:
    prompt = list(range(1, 48))
    steps.run(prompt, cancel_at=18)
    probe = steps.run([*prompt[:18], *range(900, 911)])
    assert (probe.matched, probe.cached) == (17, 15)
    again = steps.run(prompt, cancel_at=36)
    assert (again.matched, again.cached) == (18, 18)
    last = steps.run(prompt, [50, 51])
    assert (last.matched, last.cached) == (36, 36)


@pytest.mark.parametrize("seed", range(4))
def test_17_divergent_cancels_between_turns_cost_no_more_than_the_bound(steps: Steps, seed: int) -> None:
    rng = random.Random(seed)
    prompt = fresh(rng, 30)
    for _ in range(6):
        reply = fresh(rng, REPLY)
        steps.run(prompt, reply)
        stream = [*prompt, *reply]
        dropped = rng.randrange(REPLY)
        diverging = [*stream[: len(stream) - dropped], *fresh(rng, 25)]
        found = steps.run(diverging, cancel_at=len(diverging) - rng.randrange(1, 24))
        assert found.cached >= least(found, dropped)
        again = steps.run(diverging, fresh(rng, 3)) if rng.random() < 0.5 else found
        assert again.cached >= least(again, dropped)
        prompt = [*stream, *fresh(rng, 6)]
        found = steps.run(prompt, cancel_at=len(prompt) - 3)
        assert found.cached >= least(found, 0)
