"""Answering: one request from its turn to its end, as pieces that both APIs put into their own words."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from kvlab.errors import BadValue, KvlabError
from kvlab.events import Event, Matched, RequestClosed, TokenOut
from kvlab.serve.messages import Chat, Generate, Sampled
from kvlab.serve.runner_process import RunnerProcess
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.stop_words import StopWords
from kvlab.workloads.request import MOST_NEW

REASONS = {"limit": "length", "context": "length"}
"""`done_reason` by why a request ended; everything else is `stop`."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a client wants.

    Attributes:
        model: The model's name as the client wrote it.
        sampled: How tokens are chosen.
        max_new: New tokens at most.
        keep_alive_s: How long the model stays loaded afterwards.
        client: Whose request it is, for the queue.
        label: A name for the request in tables; nothing of the prompt.
        stop: Texts that end the reply.
        context: Tokens that prompt and reply may have together; 0 for the server's own.
        messages, prompt, system, templated, tools: As in `Generate`.
    """

    model: str
    sampled: Sampled
    max_new: int
    keep_alive_s: float
    client: str
    label: str
    stop: tuple[str, ...] = ()
    context: int = 0
    messages: tuple[Chat, ...] = ()
    prompt: str = ""
    system: str = ""
    templated: bool = False
    tools: tuple[dict[str, object], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The answer's end and its figures.

    Attributes:
        reason: `stop` or `length`.
        prompt_tokens: Tokens of the prompt, of which `matched` agree with the trie and `cached` were restored.
        generated: New tokens.
        total_s, load_s, prefill_s, decode_s: Seconds: of all, for the model's load, of the prompt, of the reply.
    """

    reason: str
    prompt_tokens: int
    matched: int
    cached: int
    generated: int
    total_s: float
    load_s: float
    prefill_s: float
    decode_s: float


async def answer(scheduler: Scheduler, query: Query) -> AsyncGenerator[Text | End]:
    """Yield the pieces of an answer, an `End` last. Closing it early cancels the request in the runner and waits for that.

    Raises:
        KvlabError: the model is not known, too many wait, the request cannot be run, or the runner ended.
    """
    began = time.perf_counter()
    async with scheduler.using(query.model, query.keep_alive_s, query.client) as held:
        if query.tools and not (held.runner.ready and held.runner.ready.tools):
            raise BadValue(
                what=f"{query.model} does not support tools",
                why="its chat template has no way to call them",
                hint="send the request without tools, or use a model trained to call them",
            )
        async with aclosing(_pieces(held.runner, replace(query, context=query.context or scheduler.settings.context), began, held.load_s)) as pieces:
            async for piece in pieces:
                yield piece


async def _pieces(runner: RunnerProcess, query: Query, began: float, load_s: float) -> AsyncGenerator[Text | End]:
    message = _message(runner, query)
    stop = StopWords(query.stop)
    matched, closed = Matched(), RequestClosed()
    async with runner.generate(message) as events:
        async for event in events:
            if isinstance(event, KvlabError):
                raise event
            matched, closed = _seen(event, matched, closed)
            if isinstance(event, TokenOut) and not stop.found:
                if text := stop.add(event.text or ""):
                    yield Text(text)
                if stop.found:
                    await runner.cancel(message.number)
            elif isinstance(event, RequestClosed):
                if text := stop.finish():
                    yield Text(text)
                yield _end(stop, matched, closed, time.perf_counter() - began, load_s)


def _seen(event: Event, matched: Matched, closed: RequestClosed) -> tuple[Matched, RequestClosed]:
    return (event if isinstance(event, Matched) else matched), (event if isinstance(event, RequestClosed) else closed)


def _message(runner: RunnerProcess, query: Query) -> Generate:
    return Generate(
        number=runner.next_number(),
        label=query.label,
        sampled=query.sampled,
        max_new=query.max_new if query.max_new > 0 else MOST_NEW,
        messages=query.messages,
        prompt=query.prompt,
        system=query.system,
        templated=query.templated,
        context=query.context,
        tools=query.tools,
    )


def _end(stop: StopWords, matched: Matched, closed: RequestClosed, total_s: float, load_s: float) -> End:
    return End(
        reason="stop" if stop.found else REASONS.get(closed.stop, "stop"),
        prompt_tokens=matched.tokens,
        matched=matched.matched,
        cached=matched.cached,
        generated=closed.generated,
        total_s=total_s,
        load_s=load_s,
        prefill_s=closed.prefill_s,
        # the prompt's last token is evaluated with the first new one
        decode_s=max(0.0, closed.ttft_s - closed.prefill_s) + closed.decode_s,
    )
