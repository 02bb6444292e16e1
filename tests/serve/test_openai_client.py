"""OpenAI's own Python client, unchanged, against the server."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionUserMessageParam

from tests.serve.conftest import MODEL, Server

QUESTION: list[ChatCompletionUserMessageParam] = [{"role": "user", "content": "Do you like reading?"}]

GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 8}


def test_a_chat_streamed_and_whole_with_its_tokens(server: Server) -> None:
    client = server.openai
    prompt = len("User: Do you like reading?\nAssistant: ")
    whole = client.chat.completions.create(model=MODEL, messages=QUESTION, **GREEDY)
    chunks = list(client.chat.completions.create(model=MODEL, messages=QUESTION, stream=True, stream_options={"include_usage": True}, **GREEDY))
    assert whole.object == "chat.completion"
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == whole.choices[0].message.content
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == whole.choices[0].finish_reason == "length"
    # the figures come in a chunk of their own, without a choice, and nowhere else
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].choices == []
    for usage in (whole.usage, chunks[-1].usage):
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (prompt, 8, prompt + 8)
    # the second time the prompt is restored up to four tokens before its end
    used = chunks[-1].usage
    assert used is not None
    assert used.prompt_tokens_details is not None
    assert used.prompt_tokens_details.cached_tokens == prompt - 4


def test_without_include_usage_no_chunk_has_figures(server: Server) -> None:
    chunks = list(server.openai.chat.completions.create(model=MODEL, messages=QUESTION, stream=True, **GREEDY))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_a_completion_streamed_and_whole(server: Server) -> None:
    client = server.openai
    whole = client.completions.create(model=MODEL, prompt="The ship ", **GREEDY)
    chunks = list(client.completions.create(model=MODEL, prompt="The ship ", stream=True, **GREEDY))
    assert whole.object == "text_completion"
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert chunks[-1].choices[0].finish_reason == "length"


def test_content_in_parts_and_a_stop(server: Server) -> None:
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"]}]}]
    whole = server.openai.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_completion_tokens=30).choices[0].message.content or ""
    cut = server.openai.chat.completions.create(model=MODEL, messages=parts, temperature=0, max_tokens=30, stop=[whole[5:8]])
    assert cut.choices[0].message.content == whole[: whole.index(whole[5:8])]
    assert cut.choices[0].finish_reason == "stop"


def test_models_are_listed(server: Server) -> None:
    assert {model.id for model in server.openai.models.list()} == {MODEL, "tiny-sliding"}
    assert server.openai.models.retrieve(MODEL).id == MODEL


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"model": "nobody", "messages": QUESTION}, openai.NotFoundError),
        ({"model": MODEL, "messages": []}, openai.BadRequestError),
        ({"model": MODEL, "messages": QUESTION, "n": 2}, openai.BadRequestError),
        ({"model": MODEL, "messages": QUESTION, "temperature": -1}, openai.BadRequestError),
        ({"model": MODEL, "messages": QUESTION, "response_format": {"type": "json_object"}}, openai.BadRequestError),
        ({"model": MODEL, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]}, openai.BadRequestError),
    ],
)
def test_errors_are_of_this_apis_kinds(server: Server, given: dict[str, Any], kind: type[openai.APIStatusError]) -> None:
    for stream in (False, True):
        with pytest.raises(kind) as refused:
            server.openai.chat.completions.create(**given, stream=stream)
        assert isinstance(refused.value.body, dict)
        assert {"message", "type", "param", "code"} <= set(refused.value.body)


def test_an_unknown_model_has_no_page(server: Server) -> None:
    with pytest.raises(openai.NotFoundError):
        server.openai.models.retrieve("nobody")
