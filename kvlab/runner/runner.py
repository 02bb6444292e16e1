"""Runner: one request at a time on one model. `step` is the picture: begin, prefill, attach, decode, close.

Invariants: the prompt's last token is held back for the decode; a reply's last token is never forwarded;
before every forward the layers are told the range it writes; a request cut short at any point leaves a whole cache.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

from kvlab.allocator import Ledger
from kvlab.cache import PrefixCache, Session, capture_offsets
from kvlab.cache.check import Checker
from kvlab.errors import BadValue
from kvlab.events import ChunkRan, Event, Log, RequestBegan, RequestClosed, TokenOut
from kvlab.policy import Policy
from kvlab.runner.chunks import next_edge
from kvlab.runner.model import Model
from kvlab.runner.timing import Timing
from kvlab.workloads.request import Request


class Runner:
    """Runs requests on `model` under `policy` and yields what happens as events.

    Attributes:
        model: The model.
        policy: The choices the cache follows.
        cache: The prefix cache.
        log: Where the events are stamped.
        last: The last request's prompt and reply tokens.
    """

    def __init__(self, model: Model, policy: Policy, log: Log | None = None, checker: Checker | None = None) -> None:
        self.model = model
        self.policy = policy
        self.log = log or Log()
        self.cache = PrefixCache(model.stores, policy, Ledger(model.meter, self.log.append), self.log.append)
        self.last: tuple[list[int], list[int]] = ([], [])
        self._checker = checker
        self._requests = 0
        self._cancelled = False
        self.cache.ledger.load(clear_pool=policy.clear_pool_after_load)
        self.cache.read_bytes("load")

    def cancel(self) -> None:
        """Ask the running request to stop at its next chunk or token."""
        self._cancelled = True

    def step(self, request: Request) -> Iterator[Event]:
        """Run one request, event by event.

        Raises:
            BadValue: the prompt is empty or longer than the model's context.
        """
        tokens = self._encode(request)
        timing = Timing()
        self._begin_request(request, tokens)
        session = self.cache.begin(tokens)
        reply: list[int] = []
        self.last = (tokens, reply)
        try:
            session.schedule(capture_offsets(len(tokens), self.policy))
            self._settle(session, "begin")
            yield from self.log.drain()
            yield from self._prefill(session, request)
            timing.prefilled()
            session.attach()
            self._settle(session, "attach")
            yield from self.log.drain()
            stop = "cancelled"
            if not self._cancelled:
                stop = yield from self._decode(session, request, reply, timing)
            self._close(session, reply, timing, stop)
        finally:
            session.cancel(reply)
        yield from self.log.drain()

    def _encode(self, request: Request) -> list[int]:
        tokens = self.model.encode(request)
        context = self.model.shape.context
        if not tokens:
            raise BadValue(
                what=f"request {request.label or 'without a label'} has an empty prompt",
                why="a model needs at least one token to go on from",
                hint="give tokens, a prompt or messages",
            )
        if context and len(tokens) > context:
            raise BadValue(
                what=f"the prompt has {len(tokens)} tokens",
                why=f"{self.model.name} holds {context} tokens of context",
                hint="shorten the prompt or open a model with a longer context",
            )
        return tokens

    def _begin_request(self, request: Request, tokens: list[int]) -> None:
        self._cancelled = False
        self._requests += 1
        self.log.request = self._requests
        self.cache.ledger.reset_peak()
        self.model.begin(self._requests, request.sampling, request.generated)
        if self._checker is not None:
            self._checker.begin(self._requests, tokens)
        limit = request.max_new if request.generated is None else len(request.generated)
        self.log.append(RequestBegan(label=request.label, tokens=len(tokens), limit=limit, text=request.prompt or None))

    def _prefill(self, session: Session, request: Request) -> Iterator[Event]:
        at, last = session.cached, len(session.tokens) - 1
        while at < last and not self._cancelled:
            edge = next_edge(at, session.cached, last, self.policy.prefill_chunk, session.captures.next_offset(), request.cancel_after)
            started = time.perf_counter()
            session.will_write(edge - at)
            self.model.prefill(session.tokens[at:edge])
            self.log.append(ChunkRan(start=at, end=edge, seconds=time.perf_counter() - started))
            session.capture()
            self._settle(session, "prefill")
            yield from self.log.drain()
            at = edge
            self._cancelled = self._cancelled or (request.cancel_after is not None and at >= request.cancel_after)

    def _decode(self, session: Session, request: Request, reply: list[int], timing: Timing) -> Generator[Event, None, str]:
        limit = request.max_new if request.generated is None else len(request.generated)
        room = self.model.shape.context - len(session.tokens) if self.model.shape.context else limit
        ends = self.model.stop_tokens if request.generated is None and not request.ignore_stop else frozenset[int]()
        decoder = self.model.decoder()
        token, stop = session.tokens[-1], "limit" if limit else "no_reply"
        while len(reply) < limit:
            if self._cancelled or len(reply) > room:
                stop = "cancelled" if self._cancelled else "context"
                break
            session.will_write(1)
            token = self.model.decode(token)
            timing.produced()
            reply.append(token)
            if self._checker is not None:
                self._checker.said(token)
            if token in ends:
                stop = "stop_token"
                break
            self.log.append(TokenOut(index=len(reply) - 1, token=token, text=decoder.add(token)))
            self._settle(session, "")
            yield from self.log.drain()
        if rest := decoder.finish():
            self.log.append(TokenOut(index=len(reply), text=rest))
        return stop

    def _close(self, session: Session, reply: list[int], timing: Timing, stop: str) -> None:
        timing.ended()
        self.cache.read_bytes("decode")
        session.close(reply)
        self.cache.ledger.clear_pool()
        self._settle(session, "close")
        generated = len(reply) - (stop == "stop_token")
        self.log.append(
            RequestClosed(
                generated=generated,
                stop=stop,
                ttft_s=timing.ttft_s,
                prefill_s=timing.prefill_s,
                decode_s=timing.decode_s,
                peak=self.cache.ledger.peak,
            )
        )

    def _settle(self, session: Session, phase: str) -> None:
        if phase:
            self.cache.read_bytes(phase)
        if self._checker is not None:
            self._checker.check(self.cache, session, phase, self.log)
