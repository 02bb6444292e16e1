"""Sending: one request of a workload as a call of Ollama's API, and what came back. Its text stays in this process unless the recording stores text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from kvlab.errors import NotAvailable
from kvlab.events import Event, LifeSign, Observed, RequestBegan, RequestClosed
from kvlab.probe.connection import Connection, Trouble
from kvlab.probe.server import Server
from kvlab.probe.writer import EventWriter
from kvlab.workloads import Request

STALL_S = 5.0
"""Seconds of a request that are in none of the server's own (load, prompt, reply) from which on it stalled; seconds without a piece of the answer, too."""

WORTH_S = 1.0
"""Such seconds below which they are not recorded: they are of the way there and back."""

STOPS = {"stop": "stop_token", "length": "limit", "load": "no_reply", "unload": "no_reply"}
"""The stop reasons of a recording, by the server's `done_reason`."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How requests are sent, beyond what they hold themselves.

    Attributes:
        model: Which model.
        context: Its context length in tokens; 0 leaves it to the server.
        keep_alive: How long the model stays loaded afterwards; "" leaves it to the server.
        concurrency: How many requests run at once.
    """

    model: str
    context: int = 0
    keep_alive: str = ""
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the reply's text, the seconds the server says it loaded for, and the trouble there was (None when there was none)."""

    text: str = ""
    load_s: float = 0.0
    trouble: Trouble | None = None


def call_of(request: Request, options: SendOptions) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of the call that sends `request`.

    Raises:
        NotAvailable: its prompt is token ids, which this API does not take.
    """
    settings: dict[str, Any] = {"num_predict": max(1, request.limit), "temperature": request.sampling.temperature}
    if request.sampling.temperature:
        settings |= {"top_p": request.sampling.top_p, "top_k": request.sampling.top_k, "min_p": request.sampling.min_p}
    if request.sampling.seed is not None:
        settings["seed"] = request.sampling.seed
    if options.context:
        settings["num_ctx"] = options.context
    body: dict[str, Any] = {"model": options.model, "stream": True, "options": settings}
    if options.keep_alive:
        # a bare number means seconds; as text the server would look for its unit
        body["keep_alive"] = int(options.keep_alive) if re.fullmatch(r"-?[0-9]+", options.keep_alive) else options.keep_alive
    if request.messages:
        return "/api/chat", body | {"messages": [{"role": role, "content": content} for role, content in request.messages]}
    if request.prompt:
        # as it is: no template around it
        return "/api/generate", body | {"prompt": request.prompt, "raw": True}
    raise NotAvailable(
        what=f"request {request.label!r} is made of token ids",
        why="a server of this API takes text only",
        hint="use a workload of text, such as A1, unrelated:15 or chat:8; the twin runs those of token ids",
    )


class Sender:
    """Sends requests and records what came of them; `left_s` returns the seconds that the run has left."""

    def __init__(self, server: Server, writer: EventWriter, left_s: Callable[[], float]) -> None:
        self._server = server
        self._writer = writer
        self._left_s = left_s

    def send(self, number: int, request: Request, options: SendOptions, connection: Connection) -> Answer:
        """Send request `number` and wait for its end. Whatever the server does, its row has an end."""
        path, body = call_of(request, options)
        self._writer.write(RequestBegan(label=request.label, limit=request.limit, text=request.text), request=number)
        self._writer.write(Observed(gauge="concurrency", number=options.concurrency), request=number)
        if options.context:
            self._writer.write(Observed(gauge="asked_context", number=options.context, unit="tokens"), request=number)
        now = self._writer.clock.now
        reply = _Reply(now())
        try:
            for piece in self._server.stream(connection, path, body, self._left_s):
                reply.take(piece, now())
                if reply.done:
                    break
            reply.require_done()
        except Trouble as trouble:
            return self._failed(number, request, reply, trouble)
        except BaseException:
            self._writer.write(reply.closed("cancelled"), request=number)
            raise
        self._writer.write(*reply.figures(), *_waits(reply, now(), options), reply.closed(reply.stop), request=number)
        return Answer(reply.text, reply.load_s)

    def _failed(self, number: int, request: Request, reply: _Reply, trouble: Trouble) -> Answer:
        # a server that quotes the prompt in its error must not bring it into the recording
        quotes = any(len(part) > 8 and part[:24] in trouble.message for part in (request.prompt, *(content for _, content in request.messages)))
        message = trouble.message.partition(":")[0] if quotes else trouble.message
        bound = self._left_s() <= 0
        sign = LifeSign(state=trouble.state, seconds=trouble.seconds, message="the time of this run is over" if bound else message)
        self._writer.write(sign, reply.closed("cancelled" if bound else "failed"), request=number)
        return Answer(reply.text, reply.load_s, trouble)


def _waits(reply: _Reply, now: float, options: SendOptions) -> list[Event]:
    """Return the events on seconds that the server does not account for."""
    waited = reply.waited_s(now)
    events: list[Event] = [Observed(gauge="waited_s", number=waited, unit="s")] if waited >= WORTH_S else []
    # of requests that run at once one waits for another
    if waited >= STALL_S and options.concurrency == 1:
        words = f"{waited:.1f} s of the request are in none of the server's own seconds: it waited, or its answer came slowly"
        events.append(LifeSign(state="stalled", seconds=waited, message=words))
    return events


class _Reply:
    """The pieces of a reply as they come."""

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._first: float | None = None
        self._before = begun
        self._silent = 0.0
        self._parts: list[str] = []
        self._last: dict[str, Any] = {}

    @property
    def done(self) -> bool:
        return self._last.get("done") is True

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def stop(self) -> str:
        return STOPS.get(str(self._last.get("done_reason", "stop")), "stop_token")

    @property
    def load_s(self) -> float:
        return self._seconds("load_duration")

    def take(self, piece: dict[str, Any], now: float) -> None:
        """Take one piece.

        Raises:
            Trouble: it is an error, or none of this API's.
        """
        if isinstance(error := piece.get("error"), str):
            raise Trouble("failed", f"in the answer: {error[:200]}")
        message = piece.get("message")
        part = cast("dict[str, Any]", message) if isinstance(message, dict) else {"content": piece.get("response"), "thinking": piece.get("thinking")}
        content, thinking = part.get("content"), part.get("thinking")
        if not isinstance(content, str):
            raise Trouble("wrong_answer", "a piece of the answer has no text")
        if self._first is None and (content or thinking):
            self._first = now
        # before the first piece a prompt is evaluated, which may take as long as it takes
        self._silent = max(self._silent, now - self._before) if self._last else 0.0
        self._before = now
        self._parts.append(content)
        self._last = piece

    def waited_s(self, now: float) -> float:
        """Return the seconds of the request that the server does not account for; when it gives no seconds, the longest wait for a piece."""
        known = sum(self._seconds(name) for name in ("load_duration", "prompt_eval_duration", "eval_duration"))
        return max(0.0, now - self._begun - known) if known else self._silent

    def require_done(self) -> None:
        """Check that the answer has ended.

        Raises:
            Trouble: it did not say so itself.
        """
        if not self.done:
            raise Trouble("wrong_answer", "the answer ends before it says that it is done")

    def figures(self) -> list[Observed]:
        """Return what the server reported of this request."""
        counts = (("prompt_tokens", self._count("prompt_eval_count")), ("cached_tokens", self._count("prompt_eval_cached_count")))
        found = [Observed(gauge=gauge, number=count, unit="tokens") for gauge, count in counts if count is not None]
        return [*found, Observed(gauge="load_s", number=self.load_s, unit="s")]

    def closed(self, stop: str) -> RequestClosed:
        """Return how it ended."""
        return RequestClosed(
            generated=self._count("eval_count") or 0,
            stop=stop,
            ttft_s=0.0 if self._first is None else self._first - self._begun,
            prefill_s=self._seconds("prompt_eval_duration"),
            decode_s=self._seconds("eval_duration"),
            text=self.text,
        )

    def _count(self, name: str) -> int | None:
        value = self._last.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None

    def _seconds(self, name: str) -> float:
        return (self._count(name) or 0) / 1e9
