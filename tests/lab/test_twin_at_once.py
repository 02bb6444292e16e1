"""A long run of the twin that nobody watches writes a reply at once. It leaves the same bytes as token by token."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from kvlab.lab import Twin
from kvlab.lab import twin as twin_module
from kvlab.lab.span_model import store_for
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request, Workload

GROUPS = (
    LayerGroup("kv", (0,), bytes_per_token=4, growth_step=16),
    LayerGroup("rotating", (1,), bytes_per_token=8, state_bytes=8 * 40, window=40, growth_step=16),
    LayerGroup("recurrent", (2,), state_bytes=100, conv_bytes_per_token=3),
)
SHAPE = Shape("mixed", GROUPS, weights_bytes=10, look_ahead=0)
SECONDS = ("ttft_s", "prefill_s", "decode_s")


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.kind)
def test_a_reply_at_once_is_as_many_single_tokens(group: LayerGroup) -> None:
    rng = random.Random(4)
    # which of its calls a store has depends on its kind
    at_once: Any = store_for(group)
    one_by_one: Any = store_for(group)
    for writer in range(120):
        at_once.writer = one_by_one.writer = writer
        if rng.random() < 0.3 and at_once.offset and group.kind != "recurrent":
            target = rng.randrange(at_once.offset)
            if group.kind == "kv":
                at_once.offset = one_by_one.offset = target
            elif at_once.can_rewind(target):
                at_once.rewind(target)
                one_by_one.rewind(target)
        prefill, reply = rng.randrange(1, 30), rng.randrange(0, 50)
        for store in (at_once, one_by_one):
            store.append(prefill)
        if reply:
            at_once.append(reply, singly=True)
        for _ in range(reply):
            one_by_one.append(1, singly=True)
        for end in (at_once.offset, at_once.capacity):
            assert at_once.contents(0, end) == one_by_one.contents(0, end)
        assert (at_once.offset, at_once.capacity) == (one_by_one.offset, one_by_one.capacity)
        assert at_once.live_retained() == one_by_one.live_retained()
        if group.kind == "recurrent":
            assert at_once.hand_out() == one_by_one.hand_out()


def workload(requests: int = 40) -> Workload:
    rng = random.Random(11)
    stems = [tuple(range(first, first + 90)) for first in (100, 300, 500)]
    made = [
        Request(
            tokens=rng.choice(stems)[: rng.randrange(2, 90)] + tuple(range(1000 + 50 * place, 1000 + 50 * place + rng.randrange(9))),
            max_new=rng.choice((0, 1, 7, 60)),
            ignore_stop=True,
            cancel_after=rng.choice((None, None, None, 5)),
        )
        for place in range(requests)
    ]
    return Workload("mixed", tuple(made))


@pytest.mark.parametrize("choices", [{}, {"capture_as": "view", "protect": "active_path"}, {"budget_counts": "resident", "live_buffer": "shrink"}], ids=str)
def test_a_run_in_brief_has_the_same_table(monkeypatch: pytest.MonkeyPatch, choices: dict[str, str]) -> None:
    policy = Policy(budget_bytes=3000, capture_grid=32, prefill_chunk=16).replace(**choices)
    whole = Twin(SHAPE).run(workload(), policy, progress=False)
    monkeypatch.setattr(twin_module, "MOST_DETAILED_REQUESTS", 0)
    brief = Twin(SHAPE).run(workload(), policy, progress=False)
    assert brief.requests.drop(SECONDS).equals(whole.requests.drop(SECONDS))
    told = Counter(brief.events["kind"])
    assert told["token_out"] == brief.requests.filter(brief.requests["generated"] > 0).height
    assert not Counter(brief.events.filter(brief.events["owner"] == "snapshots")["kind"])
    assert Counter(whole.events["kind"])["token_out"] == whole.requests["generated"].sum()


def test_someone_who_watches_sees_every_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin_module, "MOST_DETAILED_REQUESTS", 0)
    seen: Counter[str] = Counter()
    twin = Twin(SHAPE)
    asked = Request(tokens=(1, 2, 3), max_new=5, ignore_stop=True)
    twin.run(Workload("one", (asked,)), progress=False, each=lambda event: seen.update([event.kind]))
    assert seen["token_out"] == 5
    twin.run(Workload("one", (asked,)), progress=False)
    assert sum(event.kind == "token_out" for event in twin.step(asked)) == 5
