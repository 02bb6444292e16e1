"""Experiment C: who gets whose answer. On the twin in full, reduced on random weights, and in full on SmolLM2 (`pytest -m full`)."""

from __future__ import annotations

import pytest

from kvlab.events import WrongPositions
from kvlab.lab.answer_check import check_answers
from kvlab.lab.lab import Lab, open_lab
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.studies.faults import contamination
from kvlab.workloads import Request, Workload
from kvlab.workloads.contamination import tasks
from kvlab.workloads.marks import holds_all

CALLS = 48


def _tokens(task: int) -> tuple[int, ...]:
    """A shared beginning, a long or a short note, and a mark: C1's prompts in tokens, for models that take a letter for a token."""
    note = range(40, 60) if task % 2 == 0 else range(70, 76)
    return (*range(1, 31), *note, *[100 + task] * 8)


SMALL = Workload(
    "C1 in tokens", [Request(tokens=_tokens(task), max_new=14, ignore_stop=True) for task in (*range(4), *range(4))], question="is_the_answer_right"
)
"""Four tasks in two rounds: under the old rule the two with a long note restore what is not theirs in round 2."""


def wrong_requests(recording: Recording) -> list[int]:
    return recording.events.filter(kind=WrongPositions.kind)["request"].unique().sort().to_list()


def test_an_answer_is_told_from_every_other_by_its_mark() -> None:
    found = tasks()
    assert len({task.word for task in found}) == len({task.nonce for task in found}) == len(found) == 16
    for task in found:
        assert holds_all(task.prompt, (task.word, task.nonce))
        assert not any(holds_all(task.prompt, (word,)) for other in found if other != task for word in (other.word, other.nonce))
    assert len({task.nonce for task in tasks(count=4096)}) == 4096


def test_the_arms_differ_in_one_choice(smollm2: Lab) -> None:
    fault, cured = (contamination.policy(smollm2, version) for version in (contamination.FAULT_VERSION, contamination.CURED_VERSION))
    assert fault.diff(cured, smollm2.shape) == {"copy_before_overwrite": ("first_append", "every_append")}


def test_on_the_twin_the_first_round_is_clean_and_the_cure_is_whole() -> None:
    found = contamination.on_twin("0.32.5")
    # the tasks with a long note, each followed by a shorter prompt whose reply runs over its mark
    assert wrong_requests(found) == [*range(17, 33, 2), *range(33, 49, 2)]
    rows = found.events.filter(kind=WrongPositions.kind)
    # what lies there was written before, for another task
    assert (rows["belongs_to"] < rows["request"]).all()
    assert ((rows["belongs_to"] - rows["request"]) % 16 != 0).all()
    assert wrong_requests(contamination.on_twin("0.32.7")) == []


def test_prompts_of_equal_length_lose_nothing_that_is_restored() -> None:
    assert wrong_requests(contamination.on_twin("0.32.5", "equal")) == []


@pytest.mark.parametrize("version", ["0.32.5", "0.32.7"])
def test_real_arrays_are_wrong_where_the_twin_says(version: str) -> None:
    lab = Lab(random_llama(), Policy.ollama(version))
    checked = check_answers(lab, SMALL, contamination.policy(lab, version))
    mine = covered(checked.compared.filter(state="wrong").select("request", "start", "end", "belongs_to").rows())
    # the run names the same positions by itself: its tokens' twin is checked without being asked for
    theirs = covered(checked.recording.events.filter(kind=WrongPositions.kind).select("request", "start", "end", "belongs_to").rows())
    assert mine == theirs
    assert {request for request, _, _ in mine} == ({5, 7} if version == "0.32.5" else set())


def covered(rows: list[tuple[int, int, int, int]]) -> set[tuple[int, int, int]]:
    return {(request, position, owner) for request, start, end, owner in rows for position in range(start, end)}


@pytest.mark.parametrize(("version", "wrong"), [("0.32.5", {"kv"}), ("0.32.7", set[str]())])
def test_control_of_a_sliding_window_only_full_attention_is_overwritten(version: str, wrong: set[str]) -> None:
    # a window copies out all that is lazy before every write; the full-attention layers of the same model do not
    checked = check_answers(open_lab("tiny-sliding"), SMALL, contamination.policy(open_lab("tiny-sliding"), version))
    assert set(checked.recording.events.filter(kind=WrongPositions.kind)["layer"]) == wrong
    assert set(checked.compared.filter(state="wrong")["layer"]) == wrong


def test_a_window_is_compared_in_the_order_of_its_positions() -> None:
    lab = open_lab("tiny-sliding")
    window = max(group.window for group in lab.shape.groups)
    beginning = tuple(at % 250 for at in range(window + 60))
    # the second request restores a ring that has wrapped, the third a longer one that a chunk left behind
    requests = [Request(tokens=beginning, max_new=9, ignore_stop=True), Request(tokens=(*beginning, 1, 2), max_new=window, ignore_stop=True)]
    checked = check_answers(lab, Workload("windows", (*requests, requests[1])), Policy.ollama("0.33.0"))
    of_windows = checked.compared.filter(layer="rotating")
    assert of_windows["request"].unique().sort().to_list() == [2, 3]
    assert set(of_windows["state"]) <= {"identical", "numeric"}


@pytest.mark.full
@pytest.mark.parametrize(("version", "wrong"), [("0.32.5", True), ("0.32.7", False)])
def test_control_of_quantised_keys_and_values(version: str, wrong: bool) -> None:  # noqa: FBT001
    found = contamination.run(open_lab("smollm2", kv_bits=8), version, count=6, rounds=2)
    print(version, found.figures(), [answer.text for answer in found.answers])
    assert bool(found.with_another_mark) == wrong
    assert bool(wrong_requests(found.recording)) == wrong


@pytest.mark.full
def test_in_full_on_a_real_model(smollm2: Lab) -> None:
    cold = contamination.dropped(smollm2)
    assert len(cold) == 16
    assert all(answer.right for answer in cold), "every cold answer is told from every other"
    fault = contamination.run(smollm2)
    print(fault.figures(), fault.matrix(), sep="\n")
    assert len(fault.answers) == CALLS
    # the count that the twin gives for the prompts' word pieces
    assert wrong_requests(fault.recording) == wrong_requests(contamination.on_twin())
    assert len(fault.with_another_mark) >= 6
    assert all(answer.right for answer in fault.answers if answer.round == 1)
    for answer in fault.wrong:
        assert answer.span is not None
        assert answer.owners
    for answer in fault.with_another_mark:
        assert set(answer.others) <= set(answer.owner_tasks), "the cause table names the request whose mark was given"
    assert contamination.run(smollm2, "0.32.7").wrong == ()


@pytest.mark.full
def test_in_full_on_a_real_model_prompts_of_equal_length_are_all_right(smollm2: Lab) -> None:
    assert contamination.run(smollm2, lengths="equal").wrong == ()
