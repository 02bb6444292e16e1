"""Runner: one request at a time on one model. `step` is the picture: begin, prefill, attach, decode, close.

Invariants: the prompt's last token is held back for the decode, none of a prompt that is scored; a reply's last token is never forwarded;
before every forward the layers get the range it writes; a request cut short at any point leaves a whole cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial

from kvlab.allocator import Ledger
from kvlab.cache import STORES, Session, capture_offsets
from kvlab.cache.check import Checker
from kvlab.cache.media import clear_edge, folded
from kvlab.errors import BadValue
from kvlab.events import TOKENS, BytesRead, ChunkRan, Event, Log, RequestBegan, RequestClosed, TokenOut
from kvlab.policy import Policy
from kvlab.runner.drafts import Drafts
from kvlab.runner.model import Model
from kvlab.runner.running import Running, Timing
from kvlab.workloads.request import Request, Segment

SEGMENTS: dict[str, Callable[[Model, Request, Sequence[int]], Sequence[Segment]]] = {
    "none": lambda _model, _request, _tokens: (),
    # mlx-lm's server serves a prompt with images outside its batch, where it keeps no segments
    "server": lambda model, request, tokens: () if request.media else model.segments(request, tokens),
}
"""By name of the choice `store_segments`: the segments of a prompt that become entries of their own."""


class Runner:
    """Runs requests on `model` under `policy` and yields what happens as events.

    Attributes:
        model: The model.
        policy: The choices the cache follows.
        cache: The prefix cache.
        log: Where the events are stamped.
        checker: Checks every invariant after every step; None for none.
        last: The last request's prompt and reply tokens.
        ends: Where its chat messages end in the prompt, when the policy captures there.
        segments: The prompt's segments, when the policy keeps them.
        closing: Every owner's bytes after the last request closed.
        token_texts: `RequestBegan` has the text of every token of the prompt.
    """

    def __init__(self, model: Model, policy: Policy, log: Log | None = None, checker: Checker | None = None) -> None:
        self.model = model
        self.policy = policy
        self.log = log or Log()
        self.cache = STORES[policy.store](model.stores, policy, Ledger(model.meter, self.log.append, self.log.wants), self.log.append, model.shape.look_ahead)
        self.last: tuple[Sequence[int], list[int]] = ([], [])
        self.ends: Sequence[int] = ()
        self.segments: Sequence[Segment] = ()
        self.checker = checker
        self.token_texts = False
        self._requests = 0
        self._cancelled = False
        self._loaded = False
        self.closing = self._load()

    def cancel(self) -> None:
        """Stop the running request at its next chunk or token."""
        self._cancelled = True

    def with_texts(self, tokens: Sequence[int]) -> list[tuple[int, str]]:
        """Return token ids, each with the text that it adds ("" in the twin, and while a character is not whole)."""
        decoder = self.model.decoder()
        return [(int(token), decoder.add(token)) for token in tokens]

    def idle(self) -> None:
        """Let an idle time pass: evict where the policy says so."""
        self.cache.evict("idle")

    def unload(self) -> None:
        """Free everything, the weights too; the next request loads again and begins with an empty cache.

        Raises:
            NotAvailable: the model could not be loaded again; nothing is freed.
        """
        self.model.unload()
        self.cache.clear()
        self.cache.ledger.unload()
        self.cache.ledger.clear_pool()
        self._loaded = False
        self.cache.read_bytes("unload")

    def step(self, request: Request) -> Generator[Event, None, None]:
        """Run one request, event by event. One that the user thought about first (`think_s`) was preceded by an idle time.

        Raises:
            BadValue: the prompt is empty or longer than the model's context, or is to be scored with a draft head.
        """
        if request.think_s > 0:
            self.idle()
        running = self._begin(request)
        try:
            yield from self._report(running, "begin")
            yield from self._prefill(running)
            yield from self._attach(running)
            yield from self._decode(running)
        finally:
            self._close(running)
        yield from self.log.drain()

    def _load(self) -> BytesRead:
        self.model.load()
        self.cache.ledger.load(clear_pool=self.policy.clear_pool_after_load)
        self._loaded = True
        return self.cache.read_bytes("load")

    def _begin(self, request: Request) -> Running:
        if not self._loaded:
            self._load()
        tokens = self._encode(request)
        timing = Timing()
        self._cancelled = False
        self._requests += 1
        self.log.request = self._requests
        self.cache.ledger.reset_peak()
        self.model.begin(self._requests, request.sampling, request.generated)
        texts = json.dumps(self.with_texts(tokens)) if self.token_texts else None
        self.log.append(RequestBegan(label=request.label, tokens=len(tokens), limit=request.limit, text=request.text, prompt_tokens=texts))
        keyed = folded(tokens, request.media)
        if self.checker is not None:
            self.checker.begin(self._requests, keyed)
        self.ends = ()
        self.segments = SEGMENTS[self.policy.store_segments](self.model, request, tokens)
        session = self.cache.begin(keyed, request.media, self.segments, held_back=0 if request.score else 1)
        shared = request.score_shared if request.score else None
        session.schedule(capture_offsets(len(tokens), self.policy, partial(self._message_ends, request, tokens), shared))
        running = Running(request, tokens, session, Drafts(self.cache, session, self.model), timing)
        self.last = (tokens, running.reply)
        return running

    def _message_ends(self, request: Request, tokens: Sequence[int]) -> Sequence[int]:
        self.ends = self.model.message_ends(request, tokens)
        return self.ends

    def _encode(self, request: Request) -> Sequence[int]:
        tokens = self.model.encode(request)
        context = self.model.shape.context
        if not tokens:
            raise BadValue(
                what=f"request {request.label or 'without a label'} has an empty prompt",
                why="a model needs at least one token to continue from",
                hint="give tokens, a prompt or messages",
            )
        if context and len(tokens) > context:
            raise BadValue(
                what=f"the prompt has {len(tokens)} tokens",
                why=f"{self.model.name} holds {context} tokens of context",
                hint="shorten the prompt or open a model with a longer context",
            )
        if request.score and self.cache.targets != self.cache.layers:
            raise BadValue(
                what=f"request {request.label or 'without a label'} is scored on {self.model.name}, which has a draft head",
                why="scoring keeps no draft layers: their last slot pairs with a token that is not there",
                hint="use a model or a shape without draft_kv layers",
            )
        return tokens

    def _prefill(self, running: Running) -> Iterator[Event]:
        session = running.session
        at, last = session.cached, session.reusable
        while not self._stops(running, at) and at < last:
            edge = min(session.captures.ends_chunk(at + self.policy.prefill_chunk), running.request.cancel_after or last, last)
            edge = clear_edge(session.items, at, edge, last)
            while at < edge:
                at = yield from self._forward(running, at, edge)
            running.drafts.follow()
        running.timing.prefilled()

    def _forward(self, running: Running, at: int, chunk_end: int) -> Generator[Event, None, int]:
        session = running.session
        end = session.captures.ends_forward(chunk_end)
        started = time.perf_counter()
        with session.writing(end - at, chunk_end - at):
            self.model.prefill(running.tokens[at:end])
        self.log.append(ChunkRan(start=at, end=end, seconds=time.perf_counter() - started))
        self.cache.moved(end)
        running.drafts.keep_level()
        session.capture()
        yield from self._report(running, "prefill")
        return end

    def _attach(self, running: Running) -> Iterator[Event]:
        # What a cut prefill captured is left to the close: whether it is kept is the policy's `on_cancel`.
        if not self._cancelled or self.policy.settle_draft:
            running.drafts.settle(at_end=False)
        if not self._cancelled:
            running.session.attach()
        yield from self._report(running, "attach")

    def _decode(self, running: Running) -> Iterator[Event]:
        session, reply = running.session, running.reply
        most, longest = self._most_tokens(running), 1 if self.log.wants(TOKENS) else self.model.longest_run
        may_stop = running.request.generated is None and not running.request.ignore_stop
        decoder = self.model.decoder()
        token = running.tokens[-1]
        while not self._cancelled:
            if len(reply) == most:
                running.stop = "context" if most < running.request.limit else "limit" if reply else "no_reply"
                break
            count = min(longest, most - len(reply))
            with session.writing(count, 1):
                tokens = self.model.decode(token, count)
            running.drafts.follow(singly=True)
            running.timing.produced()
            reply += tokens
            token = tokens[-1]
            if self.checker is not None:
                self.checker.replied(tokens)
            if may_stop and token in self.model.stop_tokens:
                running.stop = "stop_token"
                break
            offset = self.cache.targets[0].offset
            self.cache.moved(offset)
            self.cache.record()
            running.text.append("".join(map(decoder.add, tokens)))
            self.log.append(TokenOut(index=len(reply) - 1, token=token, text=running.text[-1], offset=offset))
            self._check(session, "decode")
            yield from self._hand_over(running)
        if rest := decoder.finish():
            running.text.append(rest)
            self.log.append(TokenOut(index=len(reply), text=rest))

    def _most_tokens(self, running: Running) -> int:
        # the last token of a reply is never forwarded: it needs no room
        context, limit = self.model.shape.context, running.request.limit
        return min(limit, context - len(running.tokens) + 1) if context else limit

    def _close(self, running: Running) -> None:
        self.model.end()
        running.timing.ended()
        if running.stop != "cancelled" or running.reply or self.policy.settle_draft:
            running.drafts.settle(at_end=bool(running.reply))
        else:
            # a reader of the events may have stopped before the last forward was recorded
            running.drafts.follow()
            running.drafts.flush()
        self.cache.read_bytes("decode")
        if running.stop == "cancelled":
            running.session.cancel(running.reply)
        else:
            running.session.close(running.reply)
        self.cache.ledger.clear_pool()
        self.closing = self._settle(running.session, "close")
        timing = running.timing
        self.log.append(
            RequestClosed(
                generated=running.generated,
                stop=running.stop,
                ttft_s=timing.ttft_s,
                prefill_s=timing.prefill_s,
                decode_s=timing.decode_s,
                peak=self.cache.ledger.peak,
                text="".join(running.text),
            )
        )

    def _stops(self, running: Running, at: int) -> bool:
        self._cancelled = self._cancelled or running.wants_cancel(at)
        return self._cancelled

    def _report(self, running: Running, phase: str) -> Iterator[Event]:
        self._settle(running.session, phase)
        yield from self._hand_over(running)

    def _hand_over(self, running: Running) -> Iterator[Event]:
        running.timing.leave()
        yield from self.log.drain()
        running.timing.come_back()

    def _settle(self, session: Session, phase: str) -> BytesRead:
        read = self.cache.read_bytes(phase)
        self._check(session, phase)
        return read

    def _check(self, session: Session, phase: str) -> None:
        if self.checker is not None:
            self.checker.check(self.cache, session, phase, self.log)
