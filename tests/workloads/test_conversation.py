from __future__ import annotations

import pytest

from kvlab.errors import BadValue
from kvlab.workloads import Conversations, Follow, Request
from kvlab.workloads.text_tokens import message_tokens


def after(follow: Follow) -> Request:
    conversations = Conversations()
    first = conversations.resolve(Request(tokens=(1, 2, 3, 4), chat="a"))
    conversations.closed(first, first.tokens, (10, 11, 12), None)
    return conversations.resolve(Request(tokens=(20, 21), chat="a", follow=follow))


def test_the_next_prompt_is_the_last_one_the_whole_reply_and_its_own_part() -> None:
    request = after(Follow())
    assert request.tokens == (1, 2, 3, 4, 10, 11, 12, 20, 21)
    assert request.follow is None


def test_a_tail_rendered_differently_loses_the_reply_but_for_what_is_kept() -> None:
    assert after(Follow(drop_tail=1)).tokens == (1, 2, 3, 20, 21)
    assert after(Follow(drop_tail=2, keep_reply=2)).tokens == (1, 2, 10, 11, 20, 21)


def test_a_reply_rendered_differently_comes_back_as_other_tokens() -> None:
    tokens = after(Follow(rerendered=5)).tokens
    assert tokens[:4] == (1, 2, 3, 4)
    assert tokens[9:] == (20, 21)
    assert not set(tokens[4:9]) & {1, 2, 3, 4, 10, 11, 12, 20, 21}


def test_a_chat_of_messages_gets_the_reply_as_the_assistants_message() -> None:
    conversations = Conversations()
    for turn, reply in (("one", "uno"), ("two", "due")):
        asked = conversations.resolve(Request(messages=(("user", turn),), chat="c", follow=Follow() if turn != "one" else None))
        conversations.closed(asked, (1,), (2,), reply)
    last = conversations.resolve(Request(messages=(("user", "three"),), chat="c", follow=Follow()))
    assert last.messages == (("user", "one"), ("assistant", "uno"), ("user", "two"), ("assistant", "due"), ("user", "three"))
    assert last.tokens == ()


def test_a_chat_without_reply_text_goes_on_in_tokens() -> None:
    conversations = Conversations()
    asked = conversations.resolve(Request(messages=(("user", "one"),), chat="c"))
    prompt = message_tokens(asked.messages)
    conversations.closed(asked, prompt, (2**30, 2**30 + 1), None)
    last = conversations.resolve(Request(messages=(("user", "two"),), chat="c", follow=Follow()))
    assert last.tokens[: len(prompt) + 2] == (*prompt, 2**30, 2**30 + 1)
    assert last.messages == ()


def test_plain_prompts_go_on_as_text() -> None:
    conversations = Conversations()
    asked = conversations.resolve(Request(prompt="Once", chat="c"))
    conversations.closed(asked, (1,), (2,), " upon")
    assert conversations.resolve(Request(prompt=" a time", chat="c", follow=Follow())).prompt == "Once upon a time"


def test_nothing_can_be_continued_before_it_was_closed() -> None:
    with pytest.raises(BadValue, match="conversation 'a'"):
        Conversations().resolve(Request(tokens=(1,), chat="a", follow=Follow()))


def test_a_request_outside_any_chat_stays_as_it_is() -> None:
    request = Request(prompt="hello")
    conversations = Conversations()
    assert conversations.resolve(request) is request
    conversations.closed(request, (1,), (2,), "x")
