"""`capture_at=message_ends`: whole states are kept where chat messages end, so a chat that goes on otherwise resumes there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kvlab.cache import capture_offsets
from kvlab.events import Event, Matched, Scheduled, Violation
from kvlab.lab.lab import Lab
from kvlab.lab.span_model import SpanModel
from kvlab.models.tiny import ByteTokenizer, random_llama
from kvlab.models.tokens import message_ends
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.workloads import Conversations, Request
from kvlab.workloads import text_tokens as words
from kvlab.workloads.request import Follow
from tests.cache.array_model import ArrayModel, same_as_cold, shape_of_kinds

AT_ENDS = Policy(capture_at="message_ends", capture_before_end=0, prefill_chunk=7)
CHAT = (("system", "Be brief."), ("user", "Why is the sky blue?"), ("assistant", "Rayleigh."), ("user", "And red at dusk?"))


def test_the_offsets_are_the_ends_and_one_before_the_prompts_end() -> None:
    assert capture_offsets(20, AT_ENDS, lambda: (5, 12, 20, 31)) == [5, 12]
    assert capture_offsets(20, replace(AT_ENDS, capture_before_end=4), lambda: (5, 12)) == [5, 12, 16]
    assert capture_offsets(20, AT_ENDS) == []


@pytest.mark.parametrize("storage", ["spans", "mlx"])
@pytest.mark.parametrize("kinds", [("recurrent", "kv"), ("rotating", "kv"), ("kv", "recurrent", "rotating")])
def test_a_chat_that_goes_on_otherwise_resumes_at_the_last_common_end(storage: str, kinds: tuple[str, ...]) -> None:
    shape = shape_of_kinds(kinds, 0)
    model: Any = SpanModel(shape) if storage == "spans" else ArrayModel(shape)
    runner = Runner(model, AT_ENDS)
    first = Request(tokens=tuple(range(1, 31)), generated=(40, 41), ends=(6, 17, 30))
    second = Request(tokens=(*range(1, 21), *range(60, 70)), generated=(42,), ends=(6, 17, 30))
    events = run(runner, first)
    # the prompt's own end is no capture: its last token is held back, and the close records what follows
    assert [event.end for event in events if isinstance(event, Scheduled)] == [6, 17]
    assert {6, 17} <= {node.end for node in runner.cache.trie.walk()}
    (found,) = [event for event in run(runner, second) if isinstance(event, Matched)]
    assert (found.matched, found.cached) == (20, 17)
    if storage == "mlx":
        assert all(same_as_cold(store, [*second.tokens, 42], 30) for store in model.stores)


def test_with_the_grid_the_same_chat_starts_over() -> None:
    runner = Runner(SpanModel(shape_of_kinds(("recurrent", "kv"), 0)), replace(AT_ENDS, capture_at="grid"))
    run(runner, Request(tokens=tuple(range(1, 31)), generated=(40, 41), ends=(6, 17, 30)))
    (found,) = [event for event in run(runner, Request(tokens=(*range(1, 21), *range(60, 70)))) if isinstance(event, Matched)]
    assert (found.matched, found.cached) == (20, 0)


def run(runner: Runner, request: Request) -> list[Event]:
    events = list(runner.step(request))
    assert not any(isinstance(event, Violation) for event in events)
    return events


def test_a_byte_tokenizers_messages_end_with_their_lines() -> None:
    tokenizer = ByteTokenizer()
    lines = [len(f"{role}: {content}\n") for role, content in CHAT]
    assert message_ends(tokenizer, CHAT, tokenizer.chat(CHAT)) == [sum(lines[: count + 1]) for count in range(len(lines))]
    assert message_ends(tokenizer, (), tokenizer.encode("no messages")) == []


def test_a_template_that_trims_a_last_message_gives_where_it_still_agrees() -> None:
    class Trims(ByteTokenizer):
        def chat(self, messages: Any, *, reply: bool = True) -> list[int]:
            # a thought is shown in the last message only, as some templates do
            shown = [(role, text if place == len(messages) - 1 else text.split("|")[0]) for place, (role, text) in enumerate(messages)]
            return super().chat(shown, reply=reply)

    messages = (("user", "a"), ("assistant", "b|thought"), ("user", "c"))
    tokens = Trims().chat(messages)
    ends = message_ends(Trims(), messages, tokens)
    assert [bytes(tokens[:end]).decode() for end in ends] == ["user: a\n", "user: a\nassistant: b", bytes(tokens[: ends[2]]).decode()]
    assert ends[2] == len(Trims().chat(messages, reply=False))


def test_a_lab_and_its_prediction_capture_at_the_same_ends() -> None:
    model = random_llama()
    recording = Lab(model, AT_ENDS).run(Request(messages=CHAT, max_new=3), progress=False, check=True)
    requests = recording.requests
    assert requests["nodes"].to_list() == requests["predicted_nodes"].to_list()
    assert requests["counted"].to_list() == requests["predicted_counted"].to_list()
    # user captures are kept as they are: the root, one node a message but the last, and what follows
    tokens = model.tokenizer.chat(CHAT)
    ends = [end for end in message_ends(model.tokenizer, CHAT, tokens) if end < len(tokens)]
    scheduled = recording.events.filter((recording.events["kind"] == "scheduled") & (recording.events["source"] == "lab"))
    assert scheduled["end"].to_list() == ends


def test_the_twins_words_end_where_the_chat_up_to_there_ends() -> None:
    header = len(words.word_tokens("<|assistant|>\n"))
    whole = words.message_tokens(CHAT)
    for count, end in enumerate(words.message_ends(CHAT), 1):
        assert whole[:end] == words.message_tokens(CHAT[:count])[:-header]


def test_a_conversation_that_goes_on_ends_where_the_last_turn_did() -> None:
    chats = Conversations()
    first = chats.resolve(Request(tokens=(1, 2, 3, 4), chat="c", ends=(2, 4)))
    chats.closed(first, first.tokens, (8, 9), None)
    second = chats.resolve(Request(tokens=(5, 6), chat="c", follow=Follow(), ends=(1,)))
    assert (second.tokens, second.ends) == ((1, 2, 3, 4, 8, 9, 5, 6), (2, 4, 6, 7))
    chats.closed(second, second.tokens, (7,), None)
    third = chats.resolve(Request(messages=(("user", "More."),), chat="c", follow=Follow()))
    own = words.next_turn_tokens((("user", "More."),))
    assert third.tokens == (*second.tokens, 7, *own)
    assert third.ends == (2, 4, 6, 7, 9, 9 + words.next_turn_ends((("user", "More."),))[0])
    assert own[: third.ends[-1] - 9] == own[: -len(words.word_tokens("<|assistant|>\n"))]
