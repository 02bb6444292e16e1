"""Ollama's HTTP API: its calls, field names and reasons, over the pieces of an answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kvlab.errors import BadValue, KvlabError
from kvlab.policy import NEWEST_KNOWN
from kvlab.recording.computer import version_of
from kvlab.serve import catalogue
from kvlab.serve.answering import End, Query, answer
from kvlab.serve.client import client_of, scheduler_of
from kvlab.serve.keep_alive import Remaining, parse_keep_alive
from kvlab.serve.messages import Chat
from kvlab.serve.options import parse_options
from kvlab.serve.responses import Pieces, Watched, json_bytes, words
from kvlab.serve.scheduler import Entry, Scheduler

T = TypeVar("T")

NDJSON = "application/x-ndjson"

STATUS_S = 1.0
"""Seconds that the list of loaded models waits for a runner's report, as upstream's does."""


class Function(msgspec.Struct):
    """The tool that a message calls."""

    name: str
    arguments: dict[str, Any] = {}


class Call(msgspec.Struct):
    """A call of a tool."""

    function: Function


class Message(msgspec.Struct):
    """A chat message."""

    role: str
    content: str | None = None
    thinking: str | None = None
    images: list[Any] | None = None
    tool_calls: list[Call] | None = None
    tool_name: str | None = None

    def chat(self) -> Chat:
        """Return it as runners take it."""
        calls = tuple({"name": call.function.name, "arguments": call.function.arguments} for call in self.tool_calls or ())
        return Chat(self.role, self.content or "", self.thinking or "", calls, self.tool_name or "")


class Body(msgspec.Struct, kw_only=True):
    """What `/api/generate` and `/api/chat` have in common."""

    model: str = ""
    stream: bool | None = None
    keep_alive: float | str | None = None
    options: dict[str, Any] | None = None
    format: Any = None
    think: bool | str | None = None


class GenerateBody(Body, kw_only=True):
    """The body of `/api/generate`."""

    prompt: str | None = None
    system: str | None = None
    suffix: str | None = None
    raw: bool | None = None
    images: list[Any] | None = None


class ChatBody(Body, kw_only=True):
    """The body of `/api/chat`."""

    messages: list[Message] | None = None
    tools: list[dict[str, Any]] | None = None


class NameBody(msgspec.Struct):
    """The body of `/api/show`; older clients write `name`."""

    model: str = ""
    name: str = ""


def decode(raw: bytes, kind: type[T]) -> T:
    """Return a body.

    Raises:
        BadValue: it is not JSON, or a field has another type.
    """
    if not raw.strip():
        raise BadValue(what="missing request body", why="the call takes a JSON object", hint='send for example {"model": "smollm2"}')
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadValue(what="the request body cannot be read", why=str(error), hint="send a JSON object with the fields of this call") from None


async def generate(request: Request) -> Response:
    """Answer `/api/generate`."""
    return Watched(_generate(request, await request.body()), NDJSON, error_body)


async def chat(request: Request) -> Response:
    """Answer `/api/chat`."""
    return Watched(_chat(request, await request.body()), NDJSON, error_body)


async def _generate(request: Request, raw: bytes) -> Pieces:
    body = decode(raw, GenerateBody)
    scheduler, prompt = scheduler_of(request), body.prompt or ""
    refuse(body, scheduler, images=body.images, suffix=body.suffix)
    if not prompt:
        yield await _load_or_unload(scheduler, body, _response(""))
        return
    query = replace(_query(request, body, "api/generate"), prompt=prompt, system=body.system or "", templated=not body.raw)
    async with aclosing(_lines(scheduler, query, body, _response)) as lines:
        async for line in lines:
            yield line


async def _chat(request: Request, raw: bytes) -> Pieces:
    body = decode(raw, ChatBody)
    scheduler = scheduler_of(request)
    messages = body.messages or []
    refuse(body, scheduler, images=[image for message in messages for image in message.images or ()])
    if not messages:
        yield await _load_or_unload(scheduler, body, _message(""))
        return
    query = replace(_query(request, body, "api/chat"), messages=tuple(message.chat() for message in messages), tools=tuple(body.tools or ()))
    async with aclosing(_lines(scheduler, query, body, _message)) as lines:
        async for line in lines:
            yield line


def _response(text: str) -> dict[str, Any]:
    return {"response": text}


def _message(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}}


async def _lines(scheduler: Scheduler, query: Query, body: Body, content: Callable[[str], dict[str, Any]]) -> Pieces:
    """Yield a line for each piece of an answer, or one line for all when the body does not want a stream."""
    whole: list[str] = []
    async with aclosing(answer(scheduler, query)) as pieces:
        async for piece in pieces:
            if isinstance(piece, End):
                yield _line(body.model, content("".join(whole)) | {"done": True, "done_reason": piece.reason} | _figures(piece))
            elif body.stream is False:
                whole.append(piece.text)
            else:
                yield _line(body.model, content(piece.text) | {"done": False})


def _line(model: str, fields: dict[str, Any]) -> bytes:
    return json_bytes({"model": model, "created_at": now()} | fields) + b"\n"


def now() -> str:
    """Return this moment as the API writes it."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _figures(end: End) -> dict[str, Any]:
    return {
        "total_duration": _ns(end.total_s),
        "load_duration": _ns(end.load_s),
        "prompt_eval_count": end.prompt_tokens,
        "prompt_eval_cached_count": end.cached,
        "prompt_eval_duration": _ns(end.prefill_s),
        "eval_count": end.generated,
        "eval_duration": _ns(end.decode_s),
    }


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _query(request: Request, body: Body, label: str) -> Query:
    options = parse_options(body.options)
    default = scheduler_of(request).settings.keep_alive_s
    keep_alive = parse_keep_alive(body.keep_alive, default)
    return Query(body.model, options.sampled, options.max_new, keep_alive, client_of(request), label, stop=options.stop, context=options.context)


async def _load_or_unload(scheduler: Scheduler, body: Body, content: dict[str, Any]) -> bytes:
    keep_alive = parse_keep_alive(body.keep_alive, scheduler.settings.keep_alive_s)
    if keep_alive == 0 and body.keep_alive is not None:
        # it only asks: a model that answers someone goes when it has answered
        scheduler.expire(body.model)
        return _line(body.model, content | {"done": True, "done_reason": "unload"})
    await scheduler.load(body.model, keep_alive)
    return _line(body.model, content | {"done": True, "done_reason": "load"})


def refuse(body: Body, scheduler: Scheduler, *, images: Any = None, suffix: str | None = None) -> None:
    """Refuse what no model of this server can do, in upstream's words.

    Raises:
        BadValue: the request needs it.
    """
    scheduler.known(body.model)
    for wanted, what in ((images, "vision"), (suffix, "insert"), (body.think not in (None, False), "thinking"), (body.format, "structured outputs")):
        if wanted:
            raise BadValue(what=f'"{body.model}" does not support {what}', why="kvlab serves text models as they are", hint="send the request without it")


async def version(request: Request) -> Response:
    """Answer `/api/version`: the release whose rules the caches follow, for clients that look for what a server can do."""
    release = scheduler_of(request).settings.policy.release
    newest = ".".join(map(str, (*NEWEST_KNOWN, 0)))
    return _json({"version": release if release[0].isdecimal() else newest, "kvlab": version_of("kvlab") or "unknown"})


async def tags(request: Request) -> Response:
    """Answer `/api/tags`: the models that can be called."""
    models = scheduler_of(request).settings.models
    return _json({"models": [catalogue.listed(name, model) for name, model in models.items()]})


async def show(request: Request) -> Response:
    """Answer `/api/show`."""
    body = decode(await request.body(), NameBody)
    scheduler = scheduler_of(request)
    name = scheduler.known(body.model or body.name)
    ready = next((entry.runner.ready for entry in scheduler.entries() if entry.name == name), None)
    return _json(catalogue.shown(scheduler.settings.models[name], ready))


async def ps(request: Request) -> Response:
    """Answer `/api/ps`: the models that are loaded; sizes are read now, or are the last ones known."""
    scheduler = scheduler_of(request)
    entries = scheduler.entries()
    async with anyio.create_task_group() as tasks:
        for entry in entries:
            tasks.start_soon(partial(entry.runner.ping, STATUS_S))
    return _json({"models": [_listed(scheduler, entry) for entry in entries]})


def _listed(scheduler: Scheduler, entry: Entry) -> dict[str, Any]:
    model, runner = scheduler.settings.models[entry.name], entry.runner
    ready, size = runner.ready, runner.held
    return {
        "name": entry.name,
        "model": entry.name,
        "size": size,
        "digest": catalogue.digest(model),
        "details": catalogue.details(model, ready),
        "expires_at": Remaining(scheduler.remaining(entry)).expires_at(),
        "size_vram": size,
        "context_length": min(filter(None, (0 if ready is None else ready.context, scheduler.settings.context)), default=0),
    }


async def unsupported(request: Request) -> Response:
    """Refuse a call that this server has not."""
    return _json({"error": f"{request.url.path} is not served by kvlab: it runs text models, and neither fetches nor makes any"}, 501)


def error_body(error: KvlabError, status: int) -> bytes:
    """Return an error as this API has it."""
    del status
    return json_bytes({"error": words(error)}) + b"\n"


def _json(data: object, status: int = 200) -> Response:
    return Response(json_bytes(data), status, media_type="application/json")


UNSUPPORTED = ("embed", "embeddings", "pull", "push", "create", "copy", "delete")

ROUTES = [
    Route("/api/generate", generate, methods=["POST"]),
    Route("/api/chat", chat, methods=["POST"]),
    Route("/api/version", version, methods=["GET"]),
    Route("/api/tags", tags, methods=["GET"]),
    Route("/api/show", show, methods=["POST"]),
    Route("/api/ps", ps, methods=["GET"]),
    *(Route(f"/api/{name}", unsupported, methods=["POST", "DELETE"]) for name in UNSUPPORTED),
]
"""The calls of this API."""
