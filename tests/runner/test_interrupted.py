"""A request may be cut short anywhere: in a forward, in a copy, between two events. The cache stays whole and right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from kvlab.cache.check import Checker
from kvlab.events import Event, Matched, RequestClosed, Violation, WrongPositions
from kvlab.lab import Twin, open_twin
from kvlab.lab.lab import Lab
from kvlab.lab.span_model import SpanModel
from kvlab.layers.spans import Runs
from kvlab.layers.spans_kv import SpanKVStore
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request, Workload

SHORT = Policy(prefill_chunk=8, capture_grid=16)
LONG = Request(tokens=tuple(range(1, 41)), max_new=4, ignore_stop=True)
OTHER = Request(tokens=tuple(range(60, 90)), max_new=4, ignore_stop=True)


class Interrupted(MLXModel):
    """A model whose forward number `fails_at` is interrupted after half of its layers."""

    fails_at = -1
    forwards = 0

    def prefill(self, tokens: Sequence[int]) -> None:
        self.forwards += 1
        if self.forwards == self.fails_at:
            self.caches[0].offset += len(tokens)
            raise KeyboardInterrupt
        super().prefill(tokens)


class Full(SpanKVStore):
    """A store that has no room for a copy while it is `full`."""

    full = False

    def copy(self, start: int, end: int) -> Runs:
        if self.full:
            raise MemoryError
        return super().copy(start, end)


def interrupted() -> Interrupted:
    model = random_llama()
    return Interrupted(model.name, model.net, model.tokenizer, context=model.shape.context)


def matched(events: Iterator[Event]) -> Matched:
    return next(event for event in list(events) if isinstance(event, Matched))


def test_an_interrupted_forward_is_taken_back() -> None:
    model = interrupted()
    model.fails_at = 4
    lab = Lab(model, SHORT)
    with pytest.raises(KeyboardInterrupt):
        list(lab.step(LONG))
    assert [cache.offset for cache in model.caches] == [24, 24]
    again = matched(lab.step(LONG))
    assert (again.matched, again.cached) == (24, 24)


def test_what_an_interrupted_request_left_is_told_with_its_end() -> None:
    model = interrupted()
    model.fails_at = 2
    lab = Lab(model, SHORT)
    with pytest.raises(KeyboardInterrupt):
        list(lab.step(LONG))
    events = list(lab.step(OTHER))
    ends = [(event.request, event.stop) for event in events if isinstance(event, RequestClosed)]
    assert ends == [(1, "cancelled"), (2, "limit")]
    assert [event.seq for event in events] == sorted(event.seq for event in events)


def test_two_open_steps_do_not_share_the_buffers() -> None:
    twin = open_twin(["kv"], SHORT)
    first = twin.step(LONG)
    for event in first:
        if event.kind == "captured":
            break
    second = list(twin.step(OTHER))
    assert [event for event in first if event.request == 1] == []
    assert {event.request for event in second if isinstance(event, RequestClosed)} == {1, 2}
    assert matched(twin.step(LONG)).cached == 16
    assert matched(twin.step(OTHER)).cached == len(OTHER.tokens) - 1


def test_a_failed_copy_is_made_again_before_the_next_write() -> None:
    shape = Shape("unit", (LayerGroup("kv", (0,), 1),))
    model = SpanModel(shape)
    store = model.stores[0] = Full(shape.groups[0])
    runner = Runner(model, SHORT, checker=Checker())
    list(runner.step(LONG))
    store.full = True
    with pytest.raises(MemoryError):
        list(runner.step(OTHER))
    store.full = False
    list(runner.step(OTHER))
    events = list(runner.step(LONG))
    assert not [event for event in events if isinstance(event, Violation | WrongPositions)]
    assert next(event for event in events if isinstance(event, Matched)).cached == len(LONG.tokens) - 1


@dataclass
class Cut:
    """Where a request is cancelled, and what is then left of it."""

    after: int
    cached: int


@pytest.mark.parametrize("cut", [Cut(0, 0), Cut(16, 16), Cut(19, 19), Cut(39, 39), Cut(40, 39)])
def test_a_cancel_is_asked_before_each_chunk(cut: Cut) -> None:
    twin = open_twin(["kv"], SHORT)
    list(twin.step(Request(tokens=LONG.tokens, max_new=0, cancel_after=cut.after)))
    assert matched(twin.step(LONG)).cached == cut.cached


def test_a_prediction_follows_a_cancel_before_the_first_chunk() -> None:
    lab = Lab(random_llama(), SHORT)

    def each(event: Event) -> None:
        if isinstance(event, Matched) and event.request == 2:
            lab.cancel()

    rows = lab.run(Workload("cut", (OTHER, LONG, OTHER, LONG)), progress=False, each=each).requests
    assert rows["stop"].to_list() == ["limit", "cancelled", "limit", "limit"]
    assert rows["nodes"].to_list() == rows["predicted_nodes"].to_list()
    assert rows["counted"].to_list() == rows["predicted_counted"].to_list()


def test_seconds_do_not_hold_the_readers_own_time() -> None:
    clock = FakeClock()
    twin = open_twin(["kv"], SHORT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kvlab.runner.running.time.perf_counter", clock)
        ends: list[RequestClosed] = []
        for event in twin.step(LONG):
            clock.now += 1000
            ends += [event] if isinstance(event, RequestClosed) else []
    (last,) = ends
    assert (last.prefill_s, last.ttft_s, last.decode_s) == (0, 0, 0)


class FakeClock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_bytes_of_others_are_told_once_and_not_taken_for_a_leak() -> None:
    import mlx.core as mx

    others = mx.array(np.ones(1_000_000, dtype=np.float32))
    mx.eval(others)
    lab = Lab(random_llama(), SHORT)
    rows = lab.run("unrelated:2", progress=False)
    loaded = rows.events.filter(rows.events["kind"] == "loaded")
    assert loaded["outside"].item() >= others.nbytes
    assert (rows.requests["unattributed"].abs() <= 1024).all()


def test_a_prompt_whose_branch_was_evicted_is_told_so() -> None:
    twin: Twin = open_twin(["kv"], SHORT.replace(budget_bytes=60))
    prompts = [Request(tokens=tuple(range(start, start + 40)), max_new=2) for start in (100, 200, 300, 400, 500)]
    for prompt in prompts:
        list(twin.step(prompt))
    again = matched(twin.step(prompts[0]))
    assert (again.reason, again.cached) == ("evicted", 0)
    assert matched(twin.step(Request(tokens=tuple(range(900, 930))))).reason == "nothing_shared"
