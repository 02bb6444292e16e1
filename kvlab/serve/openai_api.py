"""OpenAI's HTTP API as Ollama has it under `/v1`: chat completions, completions and models, whole or as server-sent events."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kvlab.errors import BadValue, KvlabError
from kvlab.serve.answering import End, Query, answer
from kvlab.serve.client import client_of, scheduler_of
from kvlab.serve.messages import Chat
from kvlab.serve.ollama_api import decode
from kvlab.serve.options import Options, parse_options
from kvlab.serve.responses import Pieces, Watched, json_bytes, words

EVENT_STREAM = "text/event-stream"

FINGERPRINT = "fp_kvlab"

CHUNK = "chat.completion.chunk"

ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error"}
"""An error's type by its status; every other one is `api_error`."""

DEFAULTS = {"temperature": 1.0, "top_p": 1.0}
"""This API's own defaults, which upstream keeps."""


class StreamOptions(msgspec.Struct):
    """What a stream ends with."""

    include_usage: bool = False


class ToolFunction(msgspec.Struct):
    """The tool that a message calls; the arguments are JSON."""

    name: str
    arguments: str = "{}"


class ToolCall(msgspec.Struct):
    """A call of a tool."""

    function: ToolFunction
    id: str = ""


class Part(msgspec.Struct):
    """A part of a message's content."""

    type: str
    text: str = ""


class Message(msgspec.Struct):
    """A chat message."""

    role: str
    content: str | list[Part] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class Body(msgspec.Struct, kw_only=True):
    """What both calls have in common."""

    model: str
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = None
    user: str | None = None

    def options(self, most: int | None) -> Options:
        """Return the options in Ollama's words."""
        given = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed, "num_predict": most, "stop": self.stop}
        if self.n not in (None, 1):
            raise BadValue(what=f"n is {self.n}", why="a request has one answer", hint="send it n times")
        return parse_options(given, DEFAULTS | {"top_k": 0})


class ChatBody(Body, kw_only=True):
    """The body of `/v1/chat/completions`."""

    messages: list[Message]
    max_completion_tokens: int | None = None
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None


class CompletionBody(Body, kw_only=True):
    """The body of `/v1/completions`."""

    prompt: str
    suffix: str | None = None


class Form:
    """How one call writes its answer.

    Args:
        model: As the client wrote it.
        prefix: Of the answer's id.
        objects: What a whole answer and an event of a stream call themselves.
        choice: A choice's content from one of the two and a text.
    """

    def __init__(self, model: str, prefix: str, objects: tuple[str, str], choice: Callable[[str, str], dict[str, Any]]) -> None:
        self._base: dict[str, Any] = {"id": f"{prefix}-{secrets.token_hex(8)}", "created": int(time.time()), "model": model, "system_fingerprint": FINGERPRINT}
        self._whole, self._chunk = objects
        self._choice = choice

    def whole(self, text: str, end: End) -> bytes:
        """Return a whole answer."""
        choice = {"index": 0, **self._choice(self._whole, text), "logprobs": None, "finish_reason": end.reason}
        return json_bytes(self._base | {"object": self._whole, "choices": [choice], "usage": usage(end)})

    def chunk(self, text: str, reason: str | None = None, used: dict[str, Any] | None = None) -> bytes:
        """Return one event of a stream."""
        choice = {"index": 0, **self._choice(self._chunk, text), "logprobs": None, "finish_reason": reason}
        return event(self._base | {"object": self._chunk, "choices": [choice], **(used or {})})

    def usage_chunk(self, end: End) -> bytes:
        """Return the event that has the figures and no choice."""
        none: list[Any] = []
        return event(self._base | {"object": self._chunk, "choices": none, "usage": usage(end)})


def event(data: object) -> bytes:
    """Return a server-sent event."""
    return b"data: " + json_bytes(data) + b"\n\n"


def usage(end: End) -> dict[str, Any]:
    """Return an answer's tokens; `cached_tokens` are those of the prompt that were restored."""
    return {
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.generated,
        "total_tokens": end.prompt_tokens + end.generated,
        "prompt_tokens_details": {"cached_tokens": end.cached},
    }


async def chat_completions(request: Request) -> Response:
    """Answer `/v1/chat/completions`."""
    return await _response(request, ChatBody, _chat)


async def completions(request: Request) -> Response:
    """Answer `/v1/completions`."""
    return await _response(request, CompletionBody, _completion)


async def _response(request: Request, kind: type[Any], make: Callable[[Request, Any], tuple[Query, Form]]) -> Response:
    body = decode(await request.body(), kind)
    query, form = make(request, body)
    media_type = EVENT_STREAM if body.stream else "application/json"
    return Watched(_pieces(request, query, form, body), media_type, error_body, lambda error, status: b"data: " + error_body(error, status) + b"\n\n")


async def _pieces(request: Request, query: Query, form: Form, body: Body) -> Pieces:
    whole: list[str] = []
    counted = bool(body.stream_options and body.stream_options.include_usage)
    # with include_usage every chunk but the last has a usage of null
    empty: dict[str, Any] | None = {"usage": None} if counted else None
    async with aclosing(answer(scheduler_of(request), query)) as pieces:
        async for piece in pieces:
            if not body.stream:
                if isinstance(piece, End):
                    yield form.whole("".join(whole), piece)
                else:
                    whole.append(piece.text)
            elif isinstance(piece, End):
                yield form.chunk("", piece.reason, empty)
                if counted:
                    yield form.usage_chunk(piece)
                yield b"data: [DONE]\n\n"
            else:
                yield form.chunk(piece.text, None, empty)


def _chat(request: Request, body: ChatBody) -> tuple[Query, Form]:
    if body.response_format and body.response_format.get("type") not in (None, "text"):
        raise _unsupported(body.model, "structured outputs")
    options = body.options(body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens)
    if not body.messages:
        raise BadValue(what="messages is empty", why="a chat has at least one message", hint="send the messages of the chat")
    names = {call.id: call.function.name for message in body.messages for call in message.tool_calls or ()}
    messages = tuple(_message(message, names, body.model) for message in body.messages)
    query = _query(request, body, options, "v1/chat/completions", messages=messages, tools=tuple(body.tools or ()))
    return query, Form(body.model, "chatcmpl", ("chat.completion", CHUNK), _chat_choice)


def _completion(request: Request, body: CompletionBody) -> tuple[Query, Form]:
    if body.suffix:
        raise _unsupported(body.model, "insert")
    if not body.prompt:
        raise BadValue(what="prompt is empty", why="a model needs at least one token to continue from", hint="send a prompt")
    # as upstream: a user's message where the model has a chat template
    query = _query(request, body, body.options(body.max_tokens), "v1/completions", prompt=body.prompt, templated=True)
    return query, Form(body.model, "cmpl", ("text_completion", "text_completion"), _text_choice)


def _query(request: Request, body: Body, options: Options, label: str, **prompt: Any) -> Query:
    client = body.user or client_of(request)
    keep_alive_s = scheduler_of(request).settings.keep_alive_s
    return Query(body.model, options.sampled, options.max_new, keep_alive_s, client, label, stop=options.stop, **prompt)


def _chat_choice(form: str, text: str) -> dict[str, Any]:
    return {"delta" if form == CHUNK else "message": {"role": "assistant", "content": text}}


def _text_choice(_: str, text: str) -> dict[str, Any]:
    return {"text": text}


def _message(message: Message, names: dict[str, str], model: str) -> Chat:
    content = message.content
    if isinstance(content, list):
        if any(part.type != "text" for part in content):
            raise _unsupported(model, "vision")
        content = "\n".join(part.text for part in content)
    calls = tuple({"name": call.function.name, "arguments": decode(call.function.arguments.encode(), dict[str, Any])} for call in message.tool_calls or ())
    tool = message.name or names.get(message.tool_call_id or "", "") if message.role == "tool" else ""
    # newer clients call the system's message the developer's
    return Chat("system" if message.role == "developer" else message.role, content or "", "", calls, tool)


def _unsupported(model: str, what: str) -> BadValue:
    return BadValue(what=f'"{model}" does not support {what}', why="kvlab serves text models as they are", hint="send the request without it")


async def models(request: Request) -> Response:
    """Answer `/v1/models`."""
    data = [_model(name) for name in scheduler_of(request).settings.models]
    return Response(json_bytes({"object": "list", "data": data}), media_type="application/json")


async def model(request: Request) -> Response:
    """Answer `/v1/models/NAME`."""
    name = scheduler_of(request).known(request.path_params["name"])
    return Response(json_bytes(_model(name)), media_type="application/json")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": STARTED, "owned_by": "library"}


def error_body(error: KvlabError, status: int) -> bytes:
    """Return an error as this API has it."""
    return json_bytes({"error": {"message": words(error), "type": ERROR_TYPES.get(status, "api_error"), "param": None, "code": None}})


STARTED = int(time.time())

ROUTES = [
    Route("/v1/chat/completions", chat_completions, methods=["POST"]),
    Route("/v1/completions", completions, methods=["POST"]),
    Route("/v1/models", models, methods=["GET"]),
    Route("/v1/models/{name:path}", model, methods=["GET"]),
]
"""The calls of this API."""
