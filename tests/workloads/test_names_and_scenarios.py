from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.errors import BadValue
from kvlab.workloads import Workload, branches, chat, named, repeat, resolve, unrelated
from kvlab.workloads.prompts import QUESTIONS
from kvlab.workloads.streams import END, FIRST_FRESH, FIRST_REPLY, FIRST_RERENDERED, FIRST_STREAM, STREAM_TOKENS, Fresh, NamedStreams
from kvlab.workloads.text_tokens import message_tokens, next_turn_tokens, request_tokens, word_tokens

CASE = Path(__file__).parents[1] / "cases" / "grid_restore_plain_kv.json"


@pytest.mark.parametrize("text", ["unrelated:15", "repeat:3", "chat:5", "branches:4"])
def test_a_name_gives_as_many_requests_as_it_says(text: str) -> None:
    workload = named(text)
    assert workload.name == text
    assert len(workload) == int(text.split(":")[1])
    assert workload.shape is None


def test_a_name_without_a_count_takes_the_usual_one() -> None:
    assert named("unrelated") == unrelated(15)


def test_resolve_takes_a_name_or_a_case_file() -> None:
    assert resolve("repeat:2") == repeat(2)
    assert resolve(str(CASE)).name == "grid_restore_plain_kv"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unrelatd:15", ("'unrelatd:15'", "did you mean unrelated:15?", "branches:N")),
        ("zzz", ("'zzz'", "chat:N")),
        ("unrelated:many", ("'many'",)),
        ("unrelated:0", ("unrelated:0",)),
        ("unrelated:-3", ("'-3'",)),
        ("unrelated:", ("unrelated:",)),
        ("unrelated:99999999999", ("unrelated:99999999999", "at most 1,000,000")),
        ("chat:1000001", ("chat:1000001", "at most 1,000,000")),
        ("chat:50001", ("50,001 turns", "at most 50,000 turns", "unrelated:50001")),
        ("repeat:" + "9" * 5000, ("repeat:999", "at most 1,000,000")),
    ],
)
def test_an_unknown_name_or_count_is_named_with_what_is_near(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(BadValue) as caught:
        named(text)
    for word in words:
        assert word in str(caught.value)


def test_sixty_questions_differ_from_their_first_words_on() -> None:
    assert len(QUESTIONS) >= 60
    assert len({tuple(question.split()[:2]) for question in QUESTIONS}) == len(QUESTIONS)
    counts = [len(word_tokens(question)) for question in QUESTIONS]
    assert min(counts) >= 7
    assert max(counts) <= 50
    assert len(set(counts)) >= 10


def test_no_question_comes_twice_however_many_are_asked() -> None:
    prompts = [tuple(request_tokens(request)) for request in unrelated(200).requests]
    assert len(set(prompts)) == 200


def test_repeat_asks_the_same_and_branches_share_their_beginning() -> None:
    assert len({request.messages for request in repeat(4).requests}) == 1
    beginnings = {request.messages[0] for request in branches(12).requests}
    assert len(beginnings) == 1
    assert len({request.messages for request in branches(12).requests}) == 12


def test_a_chat_goes_on_from_its_first_turn() -> None:
    first, *later = chat(3).requests
    assert first.follow is None
    assert all(request.follow is not None and request.chat == first.chat for request in later)


def test_words_have_the_same_small_ids_everywhere() -> None:
    assert word_tokens("same words") == word_tokens("same words")
    assert word_tokens("") == []
    assert all(0 < token < FIRST_STREAM for token in word_tokens("Ünïcode, 12345 and\n\nmore…"))
    assert word_tokens("extraordinarily") != word_tokens("extraordinary")


def test_an_earlier_message_keeps_its_ids_when_more_follow() -> None:
    turns = (("user", "one"), ("assistant", "two"), ("user", "three"))
    assert message_tokens(turns)[: len(message_tokens(turns[:1]))] == message_tokens(turns[:1])
    assert next_turn_tokens(turns[2:])[-len(message_tokens(turns[2:])) :] == message_tokens(turns[2:])


def test_kinds_of_tokens_never_share_an_id() -> None:
    streams = NamedStreams()
    assert streams.first("a", 3) == streams.first("a", 5)[:3]
    assert not set(streams.first("a", 5)) & set(streams.first("b", 5))
    edges = [FIRST_STREAM, FIRST_FRESH, FIRST_RERENDERED, FIRST_REPLY, END]
    assert edges == sorted(edges)
    fresh = Fresh()
    assert fresh.take(2) == (FIRST_FRESH, FIRST_FRESH + 1)
    assert next(iter(fresh)) == FIRST_FRESH + 2
    assert END == 2**31


def test_ids_that_run_out_are_an_error() -> None:
    with pytest.raises(BadValue, match="fresh tokens"):
        Fresh(FIRST_REPLY).take(2**28 + 1)
    with pytest.raises(BadValue, match="stream 'long'"):
        NamedStreams().first("long", STREAM_TOKENS + 1)


def test_a_workload_is_plain_and_frozen() -> None:
    workload = Workload(name="mine", requests=())
    with pytest.raises(AttributeError):
        workload.name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    assert workload.policy == {}
