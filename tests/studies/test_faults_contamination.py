"""Experiment C: who gets whose answer. On the twin in full, reduced on random weights, and in full on SmolLM2 (`pytest -m full`)."""

from __future__ import annotations

import pytest

from kvlab.events import WrongPositions
from kvlab.lab.answer_check import check_answers
from kvlab.lab.lab import Lab, open_lab
from kvlab.models.tiny import random_llama
from kvlab.recording import Recording
from kvlab.studies.faults import contamination
from kvlab.workloads import Workload
from kvlab.workloads.contamination import BEGINNING, tasks

CALLS = 48


def wrong_requests(recording: Recording) -> list[int]:
    return recording.events.filter(kind=WrongPositions.kind)["request"].unique().sort().to_list()


def test_the_tasks_share_500_characters_and_nothing_else() -> None:
    assert 490 <= len(BEGINNING) <= 510
    for lengths in ("mixed", "equal"):
        found = tasks(lengths)
        assert len({task.word for task in found}) == len({task.nonce for task in found}) == len(found) == 16
        assert all(task.prompt.startswith(BEGINNING) and task.is_in(task.prompt) for task in found)
        assert not any(other.is_hinted_in(task.prompt) for task in found for other in found if other is not task)
    short, long = (len(task.prompt) for task in tasks("mixed")[:2])
    assert long > 1.5 * short


def test_the_arms_differ_in_one_choice() -> None:
    fault, cured = (contamination.policy(version) for version in (contamination.FAULT_VERSION, contamination.CURED_VERSION))
    assert fault.diff(cured) == {"copy_before_overwrite": ("first_append", "every_append")}


@pytest.mark.parametrize("lengths", ["mixed", "equal"])
def test_on_the_twin_the_first_round_is_clean_and_the_cure_is_whole(lengths: str) -> None:
    found = contamination.on_twin("0.32.5", lengths)
    assert found.requests.height == CALLS
    assert min(wrong_requests(found)) > 16
    assert len(wrong_requests(found)) >= 6
    rows = found.events.filter(kind=WrongPositions.kind)
    # what lies there was written before, for another task
    assert (rows["belongs_to"] < rows["request"]).all()
    assert ((rows["belongs_to"] - rows["request"]) % 16 != 0).all()
    assert wrong_requests(contamination.on_twin("0.32.7", lengths)) == []


def test_equal_lengths_lose_only_their_last_tokens_when_one_write_reaches_that_far() -> None:
    # upstream captures four tokens before the end: a lawful look at the shared beginning needs one write up to there, which saves all it touches
    found = contamination.on_twin("0.32.5", "equal", grid=8192)
    prompts = dict(found.requests.select("request", "tokens").iter_rows())
    rows = found.events.filter(kind=WrongPositions.kind).select("request", "start", "end").rows()
    assert rows
    longest = max(prompts.values())
    shortest = min(prompts.values())
    assert all(start >= shortest - 4 for _, start, _ in rows)
    assert longest - shortest < 12


def test_the_size_of_the_context_is_a_label() -> None:
    small, large = (contamination.on_twin("0.32.5", context=context) for context in (8192, 65536))
    assert wrong_requests(small) == wrong_requests(large)


@pytest.mark.parametrize("version", ["0.32.5", "0.32.7"])
def test_real_arrays_are_wrong_where_the_twin_says(version: str) -> None:
    lab = Lab(random_llama(), contamination.policy(version))
    asked = tasks("mixed", 4)
    work = Workload("C", tuple(task.request for _ in range(2) for task in asked))
    checked = check_answers(lab, work, contamination.policy(version))
    _, twin = contamination.run_beside_twin(lab, work, contamination.policy(version))
    mine = covered(checked.compared.filter(state="wrong").select("request", "start", "end", "belongs_to").rows())
    theirs = covered(twin.events.filter(kind=WrongPositions.kind).select("request", "start", "end", "belongs_to").rows())
    assert mine == theirs
    assert bool(mine) == (version == "0.32.5")


def covered(rows: list[tuple[int, int, int, int]]) -> set[tuple[int, int, int]]:
    return {(request, position, owner) for request, start, end, owner in rows for position in range(start, end)}


@pytest.mark.parametrize(("version", "wrong"), [("0.32.5", {"kv"}), ("0.32.7", set())])
def test_control_of_a_sliding_window_only_full_attention_is_overwritten(version: str, wrong: set[str]) -> None:
    # a window copies out all that is lazy before every write
    lab = open_lab("tiny-sliding")
    work = Workload("C", tuple(task.request for _ in range(2) for task in tasks("equal", 3)))
    _, twin = contamination.run_beside_twin(lab, work, contamination.policy(version))
    assert set(twin.events.filter(kind=WrongPositions.kind)["layer"]) == wrong


@pytest.mark.full
@pytest.mark.parametrize(("version", "wrong"), [("0.32.5", True), ("0.32.7", False)])
def test_control_of_quantised_keys_and_values(version: str, wrong: bool) -> None:  # noqa: FBT001
    found = contamination.run(open_lab("smollm2", kv_bits=8), version, "equal", 6, 2)
    print(version, found.figures(), [answer.text for answer in found.answers])
    assert bool(found.with_another_mark) == wrong
    assert bool(wrong_requests(found.twin)) == wrong


@pytest.mark.full
@pytest.mark.parametrize("lengths", ["mixed", "equal"])
def test_in_full_on_a_real_model(smollm2: Lab, lengths: str) -> None:
    cold = contamination.dropped(smollm2, lengths=lengths)
    assert len(cold) == CALLS
    assert all(answer.right for answer in cold), "every cold answer is told from every other"
    fault = contamination.run(smollm2, "0.32.5", lengths)
    print(lengths, fault.figures(), fault.matrix(), sep="\n")
    assert len(fault.answers) == CALLS
    assert len(fault.with_another_mark) >= 6
    assert all(answer.right for answer in fault.answers if answer.round == 1)
    for answer in fault.wrong:
        assert answer.span is not None
        assert answer.owners
    for answer in fault.with_another_mark:
        assert set(answer.others) <= set(answer.owner_tasks), "the cause table names the request whose mark was given"
    assert contamination.run(smollm2, "0.32.7", lengths).wrong == ()
