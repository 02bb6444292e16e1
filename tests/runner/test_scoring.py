"""Requests that only score (`beginScore` and `score.go`, main): all tokens are evaluated, a repeat restores all of them, nothing is generated."""

from __future__ import annotations

import pytest

from kvlab.cache.check import Checker
from kvlab.errors import BadValue
from kvlab.events import Captured, Event, Matched, RequestClosed, TokenOut, Violation
from kvlab.findings import diagnose
from kvlab.lab import Twin
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import Shape, unit_groups
from kvlab.workloads import Request, Workload

PROMPT = tuple(range(1, 41))
POLICY = Policy(capture_grid=16, capture_before_end=4)


def runner(*kinds: str, policy: Policy = POLICY) -> Runner:
    return Runner(SpanModel(Shape("unit", unit_groups(kinds, 1, 10), look_ahead=int("draft_kv" in kinds))), policy, checker=Checker())


def run(on: Runner, request: Request) -> list[Event]:
    events = list(on.step(request))
    assert not [one for one in events if isinstance(one, Violation)]
    return events


def found(events: list[Event]) -> tuple[int, int, int, str]:
    return next((one.matched, one.cached, one.left, one.reason) for one in events if isinstance(one, Matched))


@pytest.mark.parametrize("kinds", [("kv",), ("hidden",), ("recurrent", "kv", "hidden")])
def test_a_repeat_restores_all_and_one_that_is_generated_from_leaves_a_token(kinds: tuple[str, ...]) -> None:
    on = runner(*kinds)
    events = run(on, Request(tokens=PROMPT, score=True))
    assert on.cache.offset == len(PROMPT)
    assert [(one.generated, one.stop) for one in events if isinstance(one, RequestClosed)] == [(0, "no_reply")]
    assert not [one for one in events if isinstance(one, TokenOut)]
    assert found(run(on, Request(tokens=PROMPT, score=True))) == (40, 40, 0, "reused_in_full")
    left = 1 if "recurrent" not in kinds else 40 - 32
    assert found(run(on, Request(tokens=PROMPT, max_new=1)))[:3] == (40, 40 - left, left)


def test_captures_are_taken_where_the_prompts_part_and_on_the_grid_and_none_before_the_end() -> None:
    events = run(runner("kv", "recurrent"), Request(tokens=PROMPT, score=True, score_shared=21))
    assert [one.end for one in events if isinstance(one, Captured)] == [16, 21, 32]


def test_prompts_scored_together_go_on_from_where_they_part() -> None:
    on = runner("recurrent", "kv")
    run(on, Request(tokens=PROMPT, score=True, score_shared=21))
    assert found(run(on, Request(tokens=(*PROMPT[:21], 99), score=True, score_shared=21)))[:3] == (21, 21, 1)


def test_whole_entries_restore_all_of_a_scored_prompt() -> None:
    on = runner("kv", policy=Policy(store="whole_entry_lru"))
    run(on, Request(tokens=PROMPT, score=True))
    assert found(run(on, Request(tokens=PROMPT, score=True)))[:3] == (40, 40, 0)


def test_an_array_that_snapshots_count_twice_is_no_leak() -> None:
    shape = Shape("unit", unit_groups(("kv", "recurrent", "hidden"), 1000, 100_000))
    requests = tuple(Request(tokens=(*range(1, 901), *range(n * 1000, n * 1000 + 30)), score=True, score_shared=900) for n in range(1, 6))
    findings = {one.question: one for one in diagnose(Twin(shape, Policy()).run(Workload("scored", requests), progress=False))}
    assert findings["budget_or_leak"].verdict == "budget_filling"
    assert findings["budget_or_leak"].numbers["unexplained_slope_bytes_per_request"] == 0
    assert findings["who_holds_it"].numbers["largest_pinned_bytes"] == 0


def test_a_draft_head_cannot_score() -> None:
    with pytest.raises(BadValue, match="draft head"):
        run(runner("kv", "draft_kv"), Request(tokens=PROMPT, score=True))


@pytest.mark.parametrize(("given", "word"), [({"score": True, "generated": (1,)}, "a reply of 1 tokens"), ({"score_shared": 3}, "is not scored")])
def test_what_cannot_be_scored_is_refused(given: dict[str, object], word: str) -> None:
    with pytest.raises(BadValue, match=word):
        Request(tokens=PROMPT, **given)  # pyright: ignore[reportArgumentType]
