"""Asking: one request of a workload as a call of Ollama's API, and what came back. Its text stays in this process unless it is asked to be stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from kvlab.errors import NotAvailable
from kvlab.events import Event, LifeSign, Observed, RequestBegan, RequestClosed
from kvlab.probe.clock import Clock
from kvlab.probe.connection import Connection
from kvlab.probe.server import Server
from kvlab.probe.telling import Teller
from kvlab.probe.trouble import Trouble
from kvlab.workloads import Request

STALL_S = 5.0
"""Seconds of a request that are in none of the server's own (load, prompt, reply) from which on it stalled; seconds without a piece of the answer, too."""

WORTH_S = 1.0
"""Such seconds below which they are not told: they are of the way there and back."""

STOPS = {"stop": "stop_token", "length": "limit", "load": "no_reply", "unload": "no_reply"}
"""Our words for the reasons for which a server ends a reply."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How requests are sent besides what they say themselves.

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


def call_of(request: Request, asked: Asked) -> tuple[str, dict[str, Any]]:
    """Return the path and the body that ask for `request`.

    Raises:
        NotAvailable: its prompt is token ids, which this API does not take.
    """
    options: dict[str, Any] = {"num_predict": max(1, request.limit), "temperature": request.sampling.temperature}
    if request.sampling.temperature:
        options |= {"top_p": request.sampling.top_p, "top_k": request.sampling.top_k, "min_p": request.sampling.min_p}
    if request.sampling.seed is not None:
        options["seed"] = request.sampling.seed
    if asked.context:
        options["num_ctx"] = asked.context
    body: dict[str, Any] = {"model": asked.model, "stream": True, "options": options}
    if asked.keep_alive:
        # a bare number means seconds; as text the server would look for its unit
        body["keep_alive"] = int(asked.keep_alive) if re.fullmatch(r"-?[0-9]+", asked.keep_alive) else asked.keep_alive
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


class Asking:
    """Sends requests and tells what came of them."""

    def __init__(self, server: Server, teller: Teller, clock: Clock, left_s: Callable[[], float]) -> None:
        self._server = server
        self._teller = teller
        self._clock = clock
        self._left_s = left_s

    def ask(self, number: int, request: Request, asked: Asked, connection: Connection) -> Answer:
        """Send request `number` and wait for its end. Whatever the server does, its row has an end."""
        path, body = call_of(request, asked)
        self._teller.tell(RequestBegan(label=request.label, limit=request.limit, text=request.text), request=number)
        told = [Observed(gauge="concurrency", number=asked.concurrency)]
        if asked.context:
            told.append(Observed(gauge="asked_context", number=asked.context, unit="tokens"))
        self._teller.tell(*told, request=number)
        reply = _Reply(self._clock.now())
        try:
            for piece in self._server.ask(connection, path, body, self._left_s):
                reply.take(piece, self._clock.now())
                if reply.done:
                    break
            reply.require_done()
        except Trouble as trouble:
            return self._failed(number, request, reply, trouble)
        except BaseException:
            self._teller.tell(reply.closed("cancelled"), request=number)
            raise
        self._teller.tell(*reply.figures(), *_waits(reply, self._clock.now(), asked), reply.closed(reply.stop), request=number)
        return Answer(reply.text, reply.load_s)

    def _failed(self, number: int, request: Request, reply: _Reply, trouble: Trouble) -> Answer:
        # a server that quotes the prompt in its error must not bring it into the recording
        quotes = any(len(part) > 8 and part[:24] in trouble.message for part in (request.prompt, *(content for _, content in request.messages)))
        message = trouble.message.partition(":")[0] if quotes else trouble.message
        bound = self._left_s() <= 0
        sign = LifeSign(state=trouble.state, seconds=trouble.seconds, message="the time of this run is over" if bound else message)
        self._teller.tell(sign, reply.closed("cancelled" if bound else "failed"), request=number)
        return Answer(reply.text, reply.load_s, trouble)


def _waits(reply: _Reply, now: float, asked: Asked) -> list[Event]:
    """Return what is told of seconds that the server does not account for."""
    waited = reply.waited_s(now)
    told: list[Event] = [Observed(gauge="waited_s", number=waited, unit="s")] if waited >= WORTH_S else []
    # of requests that run at once one waits for another
    if waited >= STALL_S and asked.concurrency == 1:
        words = f"{waited:.1f} s of the request are in none of the server's own seconds: it waited, or its answer came slowly"
        told.append(LifeSign(state="stalled", seconds=waited, message=words))
    return told


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
        told = cast("dict[str, Any]", message) if isinstance(message, dict) else {"content": piece.get("response"), "thinking": piece.get("thinking")}
        content, thinking = told.get("content"), told.get("thinking")
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
        """Return the seconds of the request that the server does not account for; of one that tells none, the longest without a piece."""
        told = sum(self._seconds(name) for name in ("load_duration", "prompt_eval_duration", "eval_duration"))
        return max(0.0, now - self._begun - told) if told else self._silent

    def require_done(self) -> None:
        """The answer has ended.

        Raises:
            Trouble: it did not say so itself.
        """
        if not self.done:
            raise Trouble("wrong_answer", "the answer ends before it says that it is done")

    def figures(self) -> list[Observed]:
        """Return what the server told of this request."""
        told: list[Observed] = []
        for gauge, name in (("prompt_tokens", "prompt_eval_count"), ("cached_tokens", "prompt_eval_cached_count")):
            if (count := self._count(name)) is not None:
                told.append(Observed(gauge=gauge, number=count, unit="tokens"))
        told.append(Observed(gauge="load_s", number=self.load_s, unit="s"))
        return told

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
