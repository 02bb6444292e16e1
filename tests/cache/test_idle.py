"""`evict_at=idle`: what is over the budget goes between two requests, when the user thinks or the lab is told of an idle time."""

from __future__ import annotations

import pytest

from kvlab.events import Event, Evicted, Matched, RequestBegan
from kvlab.lab.lab import Lab
from kvlab.lab.twin import Twin
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request, Workload

IDLE = Policy(evict_at=frozenset({"idle"}), capture_before_end=0)


def source(storage: str, tokens: int) -> Twin | Lab:
    if storage == "spans":
        return Twin(Shape("kv", (LayerGroup("kv", (0,), bytes_per_token=1),)), IDLE.replace(budget_bytes=tokens))
    model = random_llama()
    return Lab(model, IDLE.replace(budget_bytes=tokens * model.shape.bytes_per_token))


def asked(first: int, think_s: float = 0.0) -> Request:
    return Request(tokens=tuple(range(first, first + 20)), generated=(1, 2), think_s=think_s)


@pytest.mark.parametrize("storage", ["spans", "mlx"])
def test_what_is_over_the_budget_goes_when_nothing_is_asked(storage: str) -> None:
    lab = source(storage, 30)
    token = lab.shape.bytes_per_token
    for first in (10, 50, 90):
        assert not any(isinstance(event, Evicted) for event in lab.step(asked(first)))
    # two requests were left behind by the next one: 20 tokens of the prompt and the first of the reply each
    assert lab.cache.counted == 2 * 21 * token
    evicted = [event for event in lab.idle() if isinstance(event, Evicted)]
    assert [(event.start, event.end, event.freed) for event in evicted] == [(0, 21, 21 * token)]
    assert lab.cache.counted == 21 * token
    assert lab.idle() == []


@pytest.mark.parametrize("storage", ["spans", "mlx"])
def test_a_request_that_was_thought_about_finds_the_server_was_idle(storage: str) -> None:
    lab = source(storage, 30)
    for first in (10, 50, 90):
        list(lab.step(asked(first)))
    events = list(lab.step(asked(10, think_s=2.5)))
    kinds: list[type[Event]] = [type(event) for event in events]
    assert kinds.index(Evicted) < kinds.index(RequestBegan)
    (found,) = [event for event in events if isinstance(event, Matched)]
    assert (found.cached, found.reason) == (0, "evicted")


def test_the_prediction_is_idle_too() -> None:
    work = Workload("thinks", (asked(10), asked(50), asked(90), asked(10, think_s=1.0), asked(130, think_s=1.0)))
    requests = source("mlx", 30).run(work, progress=False, check=True).requests
    assert requests["counted"].to_list() == requests["predicted_counted"].to_list()
    assert requests["nodes"].to_list() == requests["predicted_nodes"].to_list()
