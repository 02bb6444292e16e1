"""The soak: operations hold against the table, each planted choice shows, what fails is cut down."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence

import pytest

from kvlab.errors import BadValue
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.studies.faults.catalogue import CATALOGUE, SWITCH
from kvlab.workloads.request import MediaItem
from tests.tools.soak import as_text, soak
from tests.tools.soak.__main__ import main
from tests.tools.soak.action import Action
from tests.tools.soak.known import expected
from tests.tools.soak.layer_sets import LAYER_SETS
from tests.tools.soak.recipes import RECIPES
from tests.tools.soak.shrink import shrunk
from tests.tools.soak.signs import SIGNS
from tests.tools.soak.soaking import planned
from tests.tools.soak.trial import Plan, run_trial
from tests.tools.soak_table import CURED, PLANTED, SETS, TABLE, VERSIONS

CELLS = tuple(itertools.product(VERSIONS, SETS))
MOST_TRIALS = 80

SOME = 4_000
"""Operations in every run; rare defects show after some 13,000, so that each shows is seen with `pytest -m full`."""


def test_no_version_shows_what_is_not_known_of_it() -> None:
    found = soak(SOME, 0)
    assert found.failures == []
    _show_nothing_else({(cell["version"], cell["layer_set"]): set(cell["shown"]) for cell in found.to_dict()["cells"]})


@pytest.mark.full
def test_each_version_shows_exactly_what_is_known_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--ops", "20000", "--seed", "0", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["failures"] == []
    assert said["operations"] >= 20_000
    shown = {(cell["version"], cell["layer_set"]): set(cell["shown"]) for cell in said["cells"]}
    _show_nothing_else(shown)
    for row in TABLE:
        assert [cell for cell in CELLS if row.word(*cell) in ("must", "by design") and row.id not in shown[cell]] == [], row.id
    assert (code, said["passed"]) == (0, True)


def _show_nothing_else(shown: dict[tuple[str, str], set[str]]) -> None:
    assert set(shown) == set(CELLS)
    for row in TABLE:
        assert [cell for cell in CELLS if row.word(*cell) == "never" and row.id in shown[cell]] == [], row.id


def test_upstream_main_may_show_no_defect() -> None:
    assert {row.word("main", layer_set) for row in TABLE for layer_set in SETS if not row.design} <= {"never", "not applicable"}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_what_the_choices_say_is_what_the_table_says(row: object) -> None:
    found = next(one for one in TABLE if one is row)
    sign = next(one for one in SIGNS if one.id == found.id)
    assert {cell: expected(sign, *cell) for cell in CELLS} == {cell: found.word(*cell) for cell in CELLS}


def test_every_entry_of_the_catalogue_has_a_sign_a_switch_or_a_reason() -> None:
    signs = {sign.id for sign in SIGNS}
    assert signs <= set(CATALOGUE)
    assert [fault.id for fault in CATALOGUE.values() if fault.id not in signs and fault.status != SWITCH and not fault.reason] == []
    assert {row.id for row in TABLE} == signs
    assert set(PLANTED) | set(CURED) | {"F-19"} == signs


@pytest.mark.parametrize("fault", PLANTED)
def test_a_single_choice_in_main_shows(fault: str) -> None:
    choices, layer_set = PLANTED[fault]
    trials = (run_trial(planned(1, turn, "main", layer_set, choices)) for turn in range(MOST_TRIALS))
    assert any(fault in trial.shown for trial in trials)


@pytest.mark.parametrize("fault", CURED)
def test_what_is_by_design_ends_with_the_other_choice(fault: str) -> None:
    plans = [planned(1, turn, "main", "kv", {}) for turn in range(20)]
    assert any(fault in run_trial(plan).shown for plan in plans)
    otherwise = [Plan(plan.policy.replace(**CURED[fault]), plan.shape, plan.actions) for plan in plans]
    assert not any(fault in run_trial(plan).shown for plan in otherwise)


@pytest.mark.parametrize(
    "choices",
    [
        {"evict_at": frozenset({"begin", "attach", "page_out", "close", "prefill"})},
        {"budget_counts": "resident"},
        {"on_miss": "prune"},
        {"live_buffer": "shrink"},
        {"snapshots": "eager"},
        {"evict_order": "fifo"},
        {"evict_order": "lfu"},
        {"evict_order": "cost"},
        {"capture_at": "message_ends"},
        {"evict_at": frozenset({"begin", "attach", "page_out", "idle"})},
        {"store": "whole_entry_lru"},
    ],
    ids=lambda choices: next(iter(choices)),
)
def test_choices_that_are_no_defects_break_no_rule(choices: dict[str, object]) -> None:
    assert soak(400, 7, versions=("main",), choices=choices).failures == []


def test_a_planted_defect_fails_and_is_cut_down() -> None:
    found = soak(600, 3, versions=("main",), layer_sets=("kv",), choices={"copy_before_overwrite": "first_append"})
    assert not found.passed
    (failure,) = found.failures
    plan = failure.plan
    assert 2 <= len(plan.actions) <= 4
    assert failure.broken.request == len(plan.actions)
    assert _breaks(plan, plan.actions)
    for place in range(len(plan.actions)):
        assert not _breaks(plan, plan.actions[:place] + plan.actions[place + 1 :])
    text = as_text(found)
    assert "FAILED main on kv, seed 3" in text
    assert all(json.dumps(list(action.tokens)) in text for action in plan.actions)


def _breaks(plan: Plan, actions: Sequence[Action]) -> bool:
    return "F-14" in run_trial(Plan(plan.policy, plan.shape, tuple(actions))).shown


def test_shrinking_keeps_what_is_needed_and_no_more() -> None:
    item = MediaItem(0, 1, 2**31)
    actions = [Action(tuple(range(1, 9)), (number, 2, 3), cancel_decode=1, media=(item,)) for number in range(40)]

    def fails(some: Sequence[Action]) -> bool:
        return [action.reply[0] for action in some if action.reply and action.reply[0] in (7, 31)] == [7, 31]

    assert shrunk(actions, fails) == [Action((1,), (7,)), Action((1,), (31,))]
    assert shrunk(actions[:3], fails) == actions[:3]


def test_an_exception_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model: SpanModel, tokens: Sequence[int]) -> None:
        del model
        if len(tokens) == 3:
            raise IndexError("three")

    monkeypatch.setattr(SpanModel, "prefill", fail)
    trial = run_trial(Plan(Policy(), LAYER_SETS["kv"][0], (Action((1, 2, 3, 4)),)))
    assert [(one.request, one.rule, one.message) for one in trial.unexplained] == [(1, "crash", "IndexError: three")]


def test_a_trial_follows_from_its_plan() -> None:
    plan = planned(5, 3, "0.32.7", "hybrid+draft", {})
    assert plan == planned(5, 3, "0.32.7", "hybrid+draft", {})
    assert plan != planned(6, 3, "0.32.7", "hybrid+draft", {})
    assert run_trial(plan) == run_trial(plan)


def test_recipes_bring_nothing_out_of_main() -> None:
    for recipe, shapes in itertools.product(RECIPES, LAYER_SETS.values()):
        for shape in shapes:
            plan = planned(1, 1, "main", "kv", {})
            trial = run_trial(Plan(Policy(**recipe.choices), shape, tuple(recipe.actions(random.Random(1))) + plan.actions))
            assert trial.unexplained == []
            assert {sign for sign in trial.shown if sign in PLANTED} == set()


def test_a_node_that_was_paged_out_and_then_merged_with_a_bare_one_was_not_skipped() -> None:
    """Found by a million operations: two trials in which page-out left nothing out."""
    shape = LAYER_SETS["kv+rotating"][0]
    first = Policy.ollama("0.32.7").replace(budget_bytes=10, capture_grid=8, capture_before_end=3, prefill_chunk=9)
    long = (3, 1, 2, 2, 5, 5, 7, 3, 3, 2, 2, 6, 1, 2, 6, 1, 1, 6, 1, 5, 3, 6, 4, 2, 2, 5, 4, 5, 7, 1, 6)
    actions = (Action((3, 1, 2, 2)), Action((3, 1, 2, 4, 5, 1, 2)), Action(long, cancel_prefill=30), Action(long[:10], leave_after=1), Action((3,)))
    second = Policy.ollama("0.30.8").replace(budget_bytes=12, capture_grid=8, capture_before_end=1, prefill_chunk=9)
    stem = (4, 7, 7, 5, 1, 1, 3, 4, 6)
    others = (Action(stem, (4,)), Action((*stem, 4, 1)), Action(stem, (2, 4)), Action(stem, (4, 1, 2)), Action((*stem, 4, 1), leave_after=1), Action((4,)))
    for plan in (Plan(first, shape, actions), Plan(second, shape, others)):
        trial = run_trial(plan)
        assert "F-13" not in trial.shown
        assert trial.unexplained == []


def test_wrong_use_is_said() -> None:
    with pytest.raises(BadValue, match="0 operations"):
        soak(0)
    with pytest.raises(BadValue, match="protect"):
        main(["--ops", "1", "--set", "protect=nothing"])


@pytest.mark.parametrize("few", ["300", "19999", "0", "-5"])
def test_too_few_operations_for_a_verdict_are_refused_at_once(few: str) -> None:
    with pytest.raises(BadValue, match="--ops 20000"):
        main([f"--ops={few}"])


def test_few_operations_miss_signs_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    # with a planted choice any number will do
    assert main(["--ops", "30", "--seed", "1", "--set", "evict_order=fifo"]) == 1
    out = capsys.readouterr().out
    assert "did not show" in out
    assert "run more" in out
