"""`store=whole_entry_lru`: the entries and hits of mlx-lm's own `LRUPromptCache`, contents equal to a cold run, on both storages."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from mlx_lm.models.cache import LRUPromptCache

from kvlab.allocator import Ledger
from kvlab.cache import WholeEntries
from kvlab.cache.check import Checker
from kvlab.errors import BadValue
from kvlab.events import Event, Evicted, Log, Matched, NodeBorn, Violation, WrongPositions
from kvlab.lab.lab import Lab
from kvlab.lab.span_model import SpanModel
from kvlab.lab.twin import Twin
from kvlab.models.mlx_model import MLXModel
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import Shape
from kvlab.trie import Node
from kvlab.workloads import Request, Workload
from tests.cache.array_model import ArrayModel, same_as_cold, shape_of_kinds
from tests.cache.harness import SETS
from tests.lab import nets

WHOLE = Policy(store="whole_entry_lru", prefill_chunk=5)


def a_runner(kinds: tuple[str, ...], storage: str, policy: Policy = WHOLE) -> Runner:
    shape = shape_of_kinds(kinds, 0)
    model: Any = SpanModel(shape) if storage == "spans" else ArrayModel(shape)
    return Runner(model, policy, checker=Checker())


def ask(runner: Runner, tokens: tuple[int, ...], reply: tuple[int, ...] = (), cancel_after: int | None = None) -> tuple[Matched, list[Event]]:
    events = list(runner.step(Request(tokens=tokens, generated=reply, cancel_after=cancel_after)))
    assert [event for event in events if isinstance(event, Violation | WrongPositions)] == []
    return next(event for event in events if isinstance(event, Matched)), events


def entries(runner: Runner) -> list[tuple[int, ...]]:
    """Return the tokens of every entry, the oldest first."""
    assert isinstance(runner.cache, WholeEntries)
    return [tokens_to(node) for node in runner.cache._entries["assistant"].values()]


def tokens_to(node: Node | None) -> tuple[int, ...]:
    return () if node is None else (*tokens_to(node.parent), *memoryview(node.edge).cast("i"))


@dataclass
class Counted:
    """Stands for a prompt's caches in mlx-lm's store: how many tokens they hold, what these cost, and whether they can be trimmed."""

    tokens: int
    token: int
    state: int
    trims: bool

    @property
    def nbytes(self) -> int:
        return self.tokens * self.token + self.state

    def is_trimmable(self) -> bool:
        return self.trims

    def trim(self, count: int) -> int:
        self.tokens -= count
        return count


@pytest.mark.parametrize("storage", ["spans", "mlx"])
@pytest.mark.parametrize("kinds", [("kv",), ("kv", "recurrent")])
def test_it_keeps_and_finds_what_mlx_lms_store_does(storage: str, kinds: tuple[str, ...]) -> None:
    trims, hits, evicted = len(kinds) == 1, 0, 0
    for seed in range(12):
        rng = random.Random(seed)
        runner = a_runner(kinds, storage, WHOLE.replace(budget_bytes=rng.choice((600, 1500, 4000, 10**9))))
        token, state = runner.model.shape.bytes_per_token, runner.model.shape.state_bytes
        theirs = LRUPromptCache(max_size=10**9, max_bytes=runner.policy.budget_bytes)
        streams = [tuple(rng.choices(range(1, 4), k=rng.randint(8, 30))) for _ in range(3)]
        for _ in range(25):
            stream = rng.choice(streams)
            tokens = (*stream[: rng.randint(3, len(stream))], *rng.choices(range(1, 4), k=rng.randint(0, 6)))
            stored = [tuple(key) for _, key in theirs._lru._lrus["assistant"]]
            if tokens in stored and not trims:
                # mlx-lm would have nothing left to evaluate, and fails
                continue
            found, rest = theirs.fetch_nearest_cache("net", list(tokens))
            reply = tuple(rng.choices(range(1, 4), k=rng.randint(1, 5)))
            matched, events = ask(runner, tokens, reply)
            assert matched.cached == min(len(tokens) - len(rest), len(tokens) - 1)
            assert (found is None) == (matched.cached == 0)
            hits += matched.cached > 0
            evicted += sum(isinstance(event, Evicted) for event in events)
            # the reply's last token is not forwarded
            whole = (*tokens, *reply[:-1])
            theirs.insert_cache("net", list(whole), [Counted(len(whole), token, state, trims)])
            assert entries(runner) == [tuple(key) for _, key in theirs._lru._lrus["assistant"]]
            assert runner.cache.counted == theirs.nbytes
            streams[rng.randrange(3)] = whole
    assert min(hits, evicted) > 30


@pytest.mark.parametrize("storage", ["spans", "mlx"])
@pytest.mark.parametrize("kinds", SETS.values(), ids=SETS)
@pytest.mark.parametrize("on_cancel", ["attach", "discard"])
def test_contents_are_those_of_a_cold_run(storage: str, kinds: tuple[str, ...], on_cancel: str) -> None:
    for seed in range(6):
        rng = random.Random(seed)
        runner = a_runner(kinds, storage, WHOLE.replace(budget_bytes=rng.choice((300, 2000, 10**9)), on_cancel=on_cancel))
        held: list[tuple[int, ...]] = []
        streams = [tuple(rng.choices(range(1, 4), k=rng.randint(2, 20))) for _ in range(3)]
        for _ in range(25):
            stream = rng.choice(streams)
            tokens = (*stream[: rng.randint(1, len(stream))], *rng.choices(range(1, 4), k=rng.randint(0, 6)))
            reply = tuple(rng.choices(range(1, 4), k=rng.randint(0, 4)))
            cancel = rng.randint(1, len(tokens)) if rng.random() < 0.2 else None
            seen: Event
            for seen in runner.step(Request(tokens=tokens, generated=reply, cancel_after=cancel)):
                assert not isinstance(seen, Violation | WrongPositions)
                if storage == "mlx" and isinstance(seen, Matched):
                    cached = seen.cached
                    assert all(same_as_cold(store, tokens, cached) for store in runner.model.stores)
            cache = runner.cache
            assert (cache.offset, cache.live_bytes) == (0, 0)
            held = entries(runner)
            assert len(set(held)) == len(held)
            assert all(node.children or tokens_to(node) in held for node in cache.trie.walk() if node.parent is not None)
            assert all(len(node.children) > 1 or tokens_to(node) in held for node in cache.trie.walk() if node.parent is not None)
            streams[rng.randrange(3)] = (*tokens, *reply)
        runner.cache.release()
        assert (runner.cache.registry.open, runner.cache.counted) == (0, 0)


def test_an_entry_is_trimmed_to_what_is_common_and_costs_its_whole_again() -> None:
    runner = a_runner(("kv",), "spans")
    token = runner.model.shape.bytes_per_token
    ask(runner, tuple(range(1, 21)), (30, 31))
    matched, _ = ask(runner, (*range(1, 11), *range(40, 50)), (32, 33))
    assert (matched.matched, matched.cached) == (10, 10)
    # two entries of 21 tokens; what they share is kept twice
    assert runner.cache.counted == 2 * 21 * token


def test_a_prefix_is_dropped_when_what_goes_on_from_it_can_be_trimmed() -> None:
    for kinds, kept in ((("kv",), 1), (("kv", "recurrent"), 2)):
        runner = a_runner(kinds, "spans")
        ask(runner, tuple(range(1, 21)), (30, 31))
        matched, _ = ask(runner, (*range(1, 21), 30, 50, 51), (32, 33))
        assert (matched.cached, len(entries(runner))) == (21, kept)


def test_a_state_that_cannot_be_trimmed_is_of_use_at_its_end_only() -> None:
    runner = a_runner(("kv", "recurrent"), "spans")
    ask(runner, tuple(range(1, 21)), (30, 31))
    matched, _ = ask(runner, (*range(1, 11), 77))
    assert (matched.matched, matched.cached, matched.reason, matched.layer) == (10, 0, "reuse_limited_by_restore_point", "recurrent")


def test_a_hit_makes_no_entry_younger() -> None:
    runner = a_runner(("kv", "recurrent"), "spans")
    budget = 2 * (runner.model.shape.state_bytes + 12 * runner.model.shape.bytes_per_token)
    runner = a_runner(("kv", "recurrent"), "spans", WHOLE.replace(budget_bytes=budget, on_cancel="discard"))
    ask(runner, tuple(range(1, 11)), (20, 21))
    ask(runner, tuple(range(30, 40)), (22, 23))
    used, _ = ask(runner, (*range(1, 11), 20, 99), cancel_after=11)
    assert used.cached == 11
    ask(runner, tuple(range(60, 70)), (24, 25))
    gone, events = ask(runner, (*range(1, 11), 20, 98))
    assert (gone.cached, gone.reason) == (0, "evicted")
    assert not any(isinstance(event, NodeBorn) and event.end < 10 for event in events)


def test_an_unload_leaves_no_entry_behind() -> None:
    runner = a_runner(("kv",), "spans")
    ask(runner, tuple(range(1, 11)), (20, 21))
    assert len(entries(runner)) == 1
    runner.unload()
    assert entries(runner) == []
    matched, events = ask(runner, tuple(range(1, 11)), (20, 21))
    assert (matched.matched, matched.cached) == (0, 0)
    assert not any(isinstance(event, Evicted) for event in events)


@pytest.mark.parametrize("net", [nets.hybrid, nets.sliding, nets.chunked, nets.convolution])
def test_real_nets_hold_what_the_twin_says(net: Any) -> None:
    model = MLXModel("net", net(), nets.bytes_tokenizer(), context=4096)
    stem = tuple(index % 200 for index in range(70))
    prompts = [stem, (*stem[:40], *range(200, 220)), (*stem, 5, 6, 7), stem, tuple(range(100, 130))]
    budget = 3 * model.shape.state_bytes + 200 * model.shape.bytes_per_token
    work = Workload("entries", tuple(Request(tokens=tokens, max_new=3, ignore_stop=True) for tokens in prompts))
    requests = Lab(model, WHOLE.replace(budget_bytes=budget)).run(work, progress=False, check=True)
    assert requests.events.filter(requests.events["kind"] == "violation").is_empty()
    table = requests.requests
    assert table["counted"].to_list() == table["predicted_counted"].to_list()
    assert table["nodes"].to_list() == table["predicted_nodes"].to_list()
    assert table["live"].to_list() == [0] * len(prompts)


def test_choices_about_the_trie_are_refused() -> None:
    with pytest.raises(BadValue, match="growth=in_place with store=whole_entry_lru"):
        Twin(shape_of_kinds(("kv",), 0)).run("unrelated:1", WHOLE.replace(growth="in_place"), progress=False)
    with pytest.raises(BadValue, match="store=whole_entry_lru"):
        WholeEntries([], Policy.ollama("0.33.0").replace(store="whole_entry_lru"), Ledger(SpanModel(Shape("none", ())).meter, Log().append), Log().append)
