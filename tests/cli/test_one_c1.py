"""C1 is one workload with one set of figures, whichever command makes it, and its answers are checked without asking for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import kvlab
from kvlab.events import WrongPositions
from kvlab.lab.lab import Lab
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.probe.plan import steps
from kvlab.probe.sending import SendOptions, call_of
from kvlab.studies.faults import contamination
from kvlab.studies.reproduce import reproduce
from kvlab.workloads import Follow, Request, named
from kvlab.workloads.contamination import LONG, SHORT

Kvlab = Callable[..., Any]

WRONG = [*range(17, 33, 2), *range(33, 49, 2)]
"""The calls of tasks with a long note in rounds 2 and 3."""


def answer(told: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in told["findings"] if one["question"] == "is_the_answer_right")


@pytest.mark.parametrize("words", [("twin", "C1"), ("twin", "C1", "--policy", "0.32.5"), ("check", "C1"), ("twin", "contamination:16x3", "--policy", "0.32.5")])
def test_twin_and_check_name_the_calls(kvlab_says: Kvlab, words: tuple[str, ...]) -> None:
    told = kvlab_says(*words, "--json").json
    assert [row["request"] for row in told["requests"] if row["wrong_positions"]] == WRONG
    assert answer(told)["verdict"] == "wrong_state_restored"
    assert answer(told)["numbers"]["requests_with_wrong_positions"] == len(WRONG)


def test_faults_and_reproduce_give_the_same_count(kvlab_says: Kvlab) -> None:
    fault, cured = (arm["figures"] for arm in kvlab_says("faults", "C", "--twin-only", "--json").json["arms"])
    assert fault["requests_with_wrong_positions"] == WRONG
    assert (fault["calls"], fault["calls_with_wrong_positions"], fault["calls_with_wrong_positions_by_round"]) == (48, 16, [0, 8, 8])
    assert (cured["calls"], cured["calls_with_wrong_positions"]) == (48, 0)
    rows = {row["id"]: row["ours"] for row in kvlab_says("reproduce", "C1", "--json").json["rows"]}
    assert rows["wrong_8192"] == rows["wrong_32768"] == rows["wrong_65536"] == len(WRONG)
    assert rows["fixed"] == rows["unloaded"] == rows["equal_lengths"] == rows["wrong_65536_round_1"] == 0


@pytest.mark.parametrize("name", ["C1:after", "C1:unloaded"])
def test_the_arms_without_a_wrong_position_are_identical(kvlab_says: Kvlab, name: str) -> None:
    told = kvlab_says("twin", name, "--json").json
    assert told["violations"] == []
    assert answer(told)["verdict"] == "identical"


def test_prompts_of_equal_length_restore_nothing_wrong_but_are_not_called_identical_while_a_rule_is_broken(kvlab_says: Kvlab) -> None:
    said = kvlab_says("check", "C1:equal", "--json")
    assert not any(row["wrong_positions"] for row in said.json["requests"])
    # each reply of round 3 runs over the one before it, which is still lazy: said once for each
    assert [(one["request"], one["rule"]) for one in said.json["violations"]] == [(request, "lazy_intact") for request in range(33, 49)]
    assert said.code == 1
    found = answer(said.json)
    assert found["verdict"] == "not_enough_data"
    assert "lazy_intact" in found["summary"]


@pytest.mark.parametrize(("version", "wrong"), [("0.32.5", [(34, 141, 156, 33)]), ("0.32.7", [])])
def test_a_reply_that_was_run_over_is_wrong_for_whoever_continues_it(version: str, wrong: list[tuple[int, int, int, int]]) -> None:
    work = contamination.workload("equal")
    sent = list(work.requests[:33])
    sent[31] = replace(sent[31], chat="continued")
    more = Request(tokens=(7, 8, 9), max_new=1, chat="continued", follow=Follow())
    made = kvlab.twin(work.shape_name).run(replace(work, requests=(*sent, more)), Policy.ollama(version), progress=False)
    rows = made.events.filter(kind=WrongPositions.kind).select("request", "start", "end", "belongs_to").rows()
    # all 15 tokens of the reply that were evaluated, behind a prompt of 141
    assert rows == wrong


def test_a_checked_run_with_a_violation_is_never_identical() -> None:
    # resumed partway through an edge under an old rule: no position is wrong, a snapshot does not cover its node
    made = kvlab.twin("llama3.1-8b").run("D3:before", check=True, progress=False)
    assert made.events.filter(kind="violation").height
    assert kvlab.diagnose(made).about("is_the_answer_right").verdict == "not_enough_data"


def test_a_probe_sends_the_same_prompts() -> None:
    work = named("C1")
    sent = [call_of(request, SendOptions("m")) for step in steps(work) for _, request in step.requests]
    assert [body["prompt"] for _, body in sent] == [request.text for request in work.requests]
    assert {path for path, _ in sent} == {"/api/generate"}
    assert {body["options"]["temperature"] for _, body in sent} == {0.0}


def test_a_real_run_checks_positions_and_answers_without_being_asked() -> None:
    lab = Lab(random_llama(), Policy())
    # one letter a token: replies as long as the difference of the notes
    work = contamination.workload("mixed", 4, 2)
    work = replace(work, requests=[replace(request, max_new=len(LONG) - len(SHORT) + 10) for request in work.requests])
    runs = {version: lab.run(work, contamination.policy(lab, version), progress=False) for version in ("0.32.5", "0.32.7")}
    fault, cured = (kvlab.diagnose(made).about("is_the_answer_right") for made in runs.values())
    assert (fault.verdict, cured.verdict) == ("wrong_state_restored", "identical")
    assert fault.numbers["requests_with_wrong_positions"] == 2
    # random weights repeat no mark, and that is counted too
    assert fault.numbers["answers_with_marks"] == cured.numbers["answers_with_marks"] == 8
    assert (cured.numbers["wrong_answers"], cured.numbers["answers_with_another_mark"]) == (8, 0)


@pytest.mark.full
def test_a_real_run_counts_what_the_twin_does(kvlab_says: Kvlab) -> None:
    told = kvlab_says("run", "C1", "--json").json
    assert [row["request"] for row in told["requests"] if row["wrong_positions"]] == WRONG
    assert answer(told)["numbers"]["answers_with_another_mark"] >= 6


def test_what_the_report_ruled_out_is_in_the_table() -> None:
    (part,) = reproduce(["C1"]).parts
    rows = {str(row[0]): row[1] for one in part.tables if "ruled out" in one.title for row in one.rows}
    assert {name.split(" (")[0] for name in rows} >= {"cache number type", "temperature"}
    assert set(rows.values()) == {"no such choice in this runner"}
