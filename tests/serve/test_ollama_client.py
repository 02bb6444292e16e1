"""Ollama's own Python client, unchanged, against the server: what it sends is understood, and every field that it knows has its meaning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import ollama
import pytest

from tests.serve.conftest import GREEDY, MODEL, Server

QUESTION = [{"role": "user", "content": "Do you like dancing?"}]


def test_a_streamed_answer_is_the_whole_answer(server: Server) -> None:
    whole = server.ollama.generate(MODEL, "Alice was not a bit", raw=True, options=GREEDY)
    pieces = list(server.ollama.generate(MODEL, "Alice was not a bit", raw=True, options=GREEDY, stream=True))
    assert "".join(piece.response or "" for piece in pieces) == whole.response
    assert [piece.done for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert [piece.done_reason for piece in pieces][:-1] == [None] * (len(pieces) - 1)
    assert pieces[-1].done_reason == whole.done_reason == "length"
    # a byte is a token of this model, and it reports the whole prompt, cached or not
    assert pieces[-1].prompt_eval_count == whole.prompt_eval_count == len("Alice was not a bit")
    assert pieces[-1].eval_count == whole.eval_count == GREEDY["num_predict"]


def test_the_same_prompt_again_is_cached_up_to_where_it_can_be_restored(server: Server) -> None:
    # a prompt of its own; four tokens before the end of it is a restore point
    prompt = "It was a fine evening, and Catherine"
    ends = [server.ollama.generate(MODEL, prompt, raw=True, options=GREEDY) for _ in range(2)]
    assert ends[0].response == ends[1].response
    cached = [dict(end.model_dump(), **(end.model_extra or {})).get("prompt_eval_cached_count") for end in ends]
    assert cached in ([0, len(prompt) - 4], [None, None])


def test_a_chat_goes_through_the_models_template(server: Server) -> None:
    rendered = "User: Do you like dancing?\nAssistant: "
    chat = server.ollama.chat(MODEL, QUESTION, options=GREEDY)
    raw = server.ollama.generate(MODEL, rendered, raw=True, options=GREEDY)
    plain = server.ollama.generate(MODEL, QUESTION[0]["content"], options=GREEDY)
    assert chat.message.role == "assistant"
    assert chat.message.content == raw.response == plain.response
    assert chat.prompt_eval_count == len(rendered)


def test_a_chat_is_streamed(server: Server) -> None:
    whole = server.ollama.chat(MODEL, QUESTION, options=GREEDY)
    pieces = list(server.ollama.chat(MODEL, QUESTION, options=GREEDY, stream=True))
    assert "".join(piece.message.content or "" for piece in pieces) == whole.message.content
    assert pieces[-1].done_reason == "length"


def test_a_stop_word_ends_the_answer_and_is_not_in_it(server: Server) -> None:
    options = {"temperature": 0, "num_predict": 60}
    whole = server.ollama.generate(MODEL, "The ship ", raw=True, options=options).response
    word = whole[20:24]
    cut = server.ollama.generate(MODEL, "The ship ", raw=True, options=options | {"stop": [word]})
    assert cut.response == whole[: whole.index(word)]
    assert cut.done_reason == "stop"


def test_a_context_bounds_prompt_and_reply_together(server: Server) -> None:
    options = {"temperature": 0, "num_ctx": 20}
    cut = server.ollama.generate(MODEL, "The ship ", raw=True, options=options)
    # the last token of a reply needs no room
    assert (cut.prompt_eval_count, cut.eval_count, cut.done_reason) == (9, 12, "length")
    with pytest.raises(ollama.ResponseError, match="exceeds the context length"):
        server.ollama.generate(MODEL, "The ship sailed away again", raw=True, options=options)


def test_what_is_loaded_and_until_when(server: Server) -> None:
    server.ollama.generate(MODEL, "Alice", options=GREEDY, keep_alive="7m")
    (listed,) = [one for one in server.ollama.ps().models if one.model == MODEL]
    now = datetime.now(UTC)
    assert timedelta(minutes=6) < listed.expires_at - now <= timedelta(minutes=7)
    assert listed.size == listed.size_vram
    assert (listed.size or 0) > 3_000_000
    assert listed.context_length == 4096
    assert listed.details is not None
    assert listed.details.family == "qwen3_next"


def test_unload_and_load_say_so(server: Server) -> None:
    # the words of the API: `unload` only means accepted, and both calls have an answer with no text
    server.ollama.generate(MODEL, "Alice", options=GREEDY)
    assert server.ollama.generate(MODEL, keep_alive=0).done_reason == "unload"
    assert server.ollama.chat(MODEL, [], keep_alive=0).done_reason == "unload"
    loaded = server.ollama.generate(MODEL, keep_alive=-1)
    assert (loaded.done_reason, loaded.response, loaded.done) == ("load", "", True)
    (listed,) = [one for one in server.ollama.ps().models if one.model == MODEL]
    assert listed.expires_at - datetime.now(UTC) > timedelta(days=365 * 200)
    assert server.ollama.chat(MODEL, []).message.content == ""


def test_models_are_listed_and_shown(server: Server) -> None:
    listed = {one.model: one for one in server.ollama.list().models}
    assert set(listed) == {MODEL, "tiny-sliding"}
    assert listed[MODEL].digest == server.ollama.list().models[0].digest
    shown = server.ollama.show(MODEL)
    assert shown.capabilities == ["completion"]
    assert (shown.modelinfo or {})["qwen3_next.context_length"] == 4096


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        (lambda client: client.generate("nobody", "Alice"), 404, "model 'nobody' not found"),
        (lambda client: client.chat("nobody", QUESTION), 404, "model 'nobody' not found"),
        (lambda client: client.show("nobody"), 404, "model 'nobody' not found"),
        (lambda client: client.generate("nobody", keep_alive=0), 404, "model 'nobody' not found"),
        (lambda client: client.generate(MODEL, "a" * 5000, raw=True), 400, "5000 tokens"),
        (lambda client: client.generate(MODEL, "a", keep_alive="5 minutes"), 400, "keep_alive"),
        (lambda client: client.generate(MODEL, "a", options={"temperature": -1}), 400, "temperature"),
        (lambda client: client.generate(MODEL, "a", options={"top_k": "many"}), 400, "top_k"),
        (lambda client: client.generate(MODEL, "a", suffix="b"), 400, "does not support insert"),
        (lambda client: client.generate(MODEL, "a", think=True), 400, "does not support thinking"),
        (lambda client: client.generate(MODEL, "a", format="json"), 400, "does not support"),
        (lambda client: client.chat(MODEL, [{"role": "nobody", "content": "a"}]), 400, "nobody"),
        (lambda client: client.chat(MODEL, QUESTION, tools=[{"type": "function", "function": {"name": "f"}}]), 400, "does not support tools"),
        (lambda client: client.embed(MODEL, "a"), 501, "not served"),
        (lambda client: client.pull(MODEL), 501, "not served"),
    ],
)
def test_what_cannot_be_done_is_an_error_with_words(server: Server, call: object, status: int, words: str) -> None:
    with pytest.raises(ollama.ResponseError, match=words) as refused:
        call(server.ollama)  # pyright: ignore[reportCallIssue]
    assert refused.value.status_code == status


def test_an_error_in_a_stream_has_its_status_too(server: Server) -> None:
    with pytest.raises(ollama.ResponseError) as refused:
        list(server.ollama.generate("nobody", "Alice", stream=True))
    assert refused.value.status_code == 404


def test_latest_is_the_name_itself(server: Server) -> None:
    assert server.ollama.generate(f"{MODEL}:latest", "Alice", options=GREEDY).model == f"{MODEL}:latest"
