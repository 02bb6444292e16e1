"""Source: what Lab and Twin have in common. Both run requests on a model and make a Recording; both step one request on it.

Invariants: `run` begins with an empty cache, `step` continues with the current one; what was recorded before an error is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar, cast

from tqdm.auto import tqdm

from kvlab.allocator.call_sites import CallSites
from kvlab.cache import Cache
from kvlab.cache.check import Checker
from kvlab.cache.supported import require_supported
from kvlab.errors import BadValue, NotAvailable
from kvlab.events import BytesRead, Event, Log, RequestClosed
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recorder, Recording
from kvlab.recording.caveats import LEFT_OUT
from kvlab.recording.policy_words import policy_words
from kvlab.runner.model import Model
from kvlab.runner.runner import Runner
from kvlab.shape import Shape
from kvlab.units import binary
from kvlab.visible_text import visible
from kvlab.workloads import Conversations, Request, Workload, resolve
from kvlab.workloads.case_rows import ACTIONS
from kvlab.workloads.marks import Marks

T = TypeVar("T")

Message = tuple[str, str] | Mapping[str, str]
"""One message of a chat: its role and its content, or a dict with both."""

Runnable = Workload | Request | str | Sequence[Request | str] | Sequence[Message]
"""What `run` takes."""

Prediction = Callable[[Runner, Request, str], None]
"""Records what the expected policy would hold after the request that just closed with that stop, or after an action."""


class Source:
    """A model on which requests run.

    Attributes:
        source: What a recording's manifest calls it.
        events_source: What its events call it; predictions are called `twin`.
        has_text: Its replies are text.
    """

    source = ""
    events_source = ""
    has_text = True

    def __init__(self, model: Model, policy: Policy) -> None:
        self._model = model
        self._default = policy
        self._runner: Runner | None = None
        self._conversations, self._marks = Conversations(), Marks()
        self._open: Generator[Event, None, None] | None = None
        self._running = threading.RLock()
        self._token_texts = False

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}({self.name}), policy {policy_words(self.policy.to_dict())}", *(f"  {line}" for line in str(self.shape).splitlines())]
        if self._runner is not None:
            cache = self._runner.cache
            nodes = f"{cache.trie.nodes:,} node{'' if cache.trie.nodes == 1 else 's'}"
            lines.append(f"  its cache: {nodes}, {binary(cache.counted)} counted, live buffers at token {cache.offset:,}")
        return visible("\n".join(lines))

    @property
    def name(self) -> str:
        """How the model was opened."""
        return self._model.name

    @property
    def shape(self) -> Shape:
        """The model's layer kinds and prices."""
        return self._model.shape

    @property
    def policy(self) -> Policy:
        """The choices the cache follows now."""
        return self._runner.policy if self._runner is not None else self._default

    @property
    def usual_policy(self) -> Policy:
        """The choices that a run follows where neither its caller nor its workload says otherwise."""
        return self._default

    @property
    def cache(self) -> Cache:
        """The prefix cache in its current state."""
        return self._ready(self.policy).cache

    @property
    def closing(self) -> BytesRead:
        """Every owner's bytes after the last request closed."""
        return self._ready(self.policy).closing

    @property
    def token_texts(self) -> bool:
        """Whether events of steps have the text of every token of a prompt, as those of a run that stores texts do."""
        return self._token_texts

    @token_texts.setter
    def token_texts(self, value: bool) -> None:
        self._token_texts = value
        if self._runner is not None:
            self._runner.token_texts = value

    @property
    def last(self) -> tuple[Sequence[int], Sequence[int]]:
        """The prompt's and the reply's token ids of the last request."""
        return self._ready(self.policy).last

    def run(
        self,
        workload: Runnable,
        policy: Policy | None = None,
        *,
        store_text: bool = False,
        out: str | None = None,
        progress: bool = True,
        check: bool | None = None,
        call_sites: bool = False,
        each: Callable[[Event], None] | None = None,
    ) -> Recording:
        """Run a workload from an empty cache and return its recording.

        Args:
            workload: A workload, its name (`unrelated:15`), a case file, one request, a list of requests and texts, or the messages of one chat, each a
                (role, content) or a dict of both. A text in a list is sent as a user's chat message, as in `step`.
            policy: The choices the cache follows; by default those of the workload on top of this model's.
            store_text: Keep prompts and answers in the recording.
            out: Where the recording is stored (`NAME.kvrec`); a temporary folder when None.
            progress: Show a progress bar.
            check: Check every invariant after every step, and who wrote each restored position; what does not hold are events. By default where the
                workload is about right answers.
            call_sites: Record which Python code allocated each piece of bytes (`Recording.call_site`, `spans`); no path of this machine is recorded.
            each: Called with every event as it happens.

        Raises:
            KvlabError: the workload, the policy or the place cannot be used, or another thread runs something here.
        """
        work = _workload(workload)
        chosen = self._default.amended(work.policy) if policy is None else _policy(policy)
        require_supported(chosen)
        check = work.needs_check if check is None else check
        detailed = self._records_all(work) or check or store_text or call_sites or each is not None
        manifest = Manifest.now(
            model=self.name,
            origin=self._model.origin,
            shape=self.shape,
            policy=chosen,
            workload=work.name,
            source=self.source,
            stored_text=store_text,
            checked=check,
            left_out=() if detailed else tuple(LEFT_OUT),
        )
        with self._alone(), Recorder(manifest, out=out, store_text=store_text) as recorder:
            runner = self._fresh(chosen, Checker() if check else None, call_sites=call_sites)
            runner.token_texts, runner.log.left_out = store_text, frozenset(manifest.left_out)
            predict = self._prediction(chosen, check=check)
            try:
                for request in tqdm(work.requests, desc=work.name, unit="request", disable=not progress):
                    for event in self._stepped(runner, request, predict):
                        recorder.write(event)
                        if each is not None:
                            each(event)
            finally:
                self._end_open_step()
                for event in runner.log.drain():
                    recorder.write(event)
                runner.checker = runner.log.mark = None
                runner.token_texts, runner.log.left_out = self.token_texts, frozenset()
            return recorder.close()

    def step(self, request: Request | str, policy: Policy | None = None) -> Generator[Event]:
        """Run one request on the current cache, event by event. Another policy than the cache's begins with an empty one.

        A text is sent as a user's chat message. A step that was left open ends as cancelled when the next one begins: they share
        the live buffers.
        """
        given = _request(request)
        with self._alone():
            self._end_open_step()
            events = self._stepped(self._ready(self.policy if policy is None else _policy(policy)), given, _no_prediction)
        with closing(events):
            while True:
                with self._alone():
                    event = next(events, None)
                if event is None:
                    return
                yield event

    def idle(self) -> list[Event]:
        """Let an idle time pass between two requests: under `evict_at` with idle, what is over the budget is evicted. Return the events."""
        with self._alone():
            self._end_open_step()
            runner = self._ready(self.policy)
            runner.idle()
            return list(runner.log.drain())

    def encode(self, request: Request) -> Sequence[int]:
        """Return the token ids of a request's own part, as the model's tokenizer or the twin's rule makes them."""
        return self._model.encode(self._fit(request))

    def with_texts(self, tokens: Sequence[int]) -> list[tuple[int, str]]:
        """Return token ids, each with the text that it adds ("" in the twin, and while a character is not whole)."""
        return self._ready(self.policy).with_texts(tokens)

    def check_steps(self) -> None:
        """Begin with an empty cache and check every rule in the steps that follow, as `run` does with `check`."""
        self._fresh(self.policy, Checker())

    def cancel(self) -> None:
        """Stop the running request at its next chunk or token."""
        if self._runner is not None:
            self._runner.cancel()

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Hold the model and its cache, which two threads cannot share.

        Raises:
            NotAvailable: another thread has them.
        """
        if not self._running.acquire(blocking=False):
            raise NotAvailable(
                what=f"{self.name} is running a request in another thread",
                why="its cache and its live buffers serve one request at a time",
                hint="wait until that run has ended, or open it again for the other thread",
            )
        try:
            yield
        finally:
            self._running.release()

    def _stepped(self, runner: Runner, request: Request, predict: Prediction) -> Generator[Event]:
        self._end_open_step()
        if request.action:
            _require_action(request.action)
            # whichever way it is done to a server: what it held is freed, its weights too
            runner.unload()
            predict(runner, request, "")
            yield from runner.log.drain()
            return
        yield from runner.log.drain()
        resolved = self._fit(self._conversations.resolve(request))
        self._open = runner.step(resolved)
        for event in self._open:
            if isinstance(event, RequestClosed):
                prompt, reply = runner.last
                self._conversations.closed(resolved, prompt, reply, event.text if self.has_text else None)
                self._read_marks(runner, resolved, event)
                predict(runner, resolved, event.stop)
            yield event
        yield from runner.log.drain()

    def _read_marks(self, runner: Runner, request: Request, closed: RequestClosed) -> None:
        if self.has_text:
            self._marks.sent(closed.request, request)
            for event in self._marks.answered(request, closed.text or ""):
                runner.log.append(event)

    def _end_open_step(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None

    def _ready(self, policy: Policy) -> Runner:
        if self._runner is None or self._runner.policy != policy:
            return self._fresh(policy, None)
        return self._runner

    def _fresh(self, policy: Policy, checker: Checker | None, *, call_sites: bool = False) -> Runner:
        self._end_open_step()
        if self._runner is not None:
            # Released here and not by the garbage collector: its bytes would be unattributed until then.
            self._runner.cache.release()
        self._runner = None
        self._conversations, self._marks = Conversations(), Marks()
        self._collect()
        log = Log(self.events_source, mark=CallSites() if call_sites else None)
        self._runner = Runner(self._model, policy, log, checker)
        self._runner.token_texts = self._token_texts
        return self._runner

    def _fit(self, request: Request) -> Request:
        """Return `request` with token ids that the model has."""
        return request

    def _collect(self) -> None:
        """Free what dead objects still hold, before a runner reads what was in use before it."""

    def _records_all(self, work: Workload) -> bool:
        """Whether a run of `work` without a reader of its events records every token and every move of bytes."""
        del work
        return True

    def _prediction(self, policy: Policy, *, check: bool) -> Prediction:
        """Return what records the expected policy's bytes after each request; with `check` also who wrote restored positions, where only a twin knows it."""
        del policy, check
        return _no_prediction


def _require_action(action: str) -> None:
    if action not in ACTIONS:
        raise BadValue(what=f"the workload has the action {action!r}", why=f"the actions are {', '.join(ACTIONS)}", hint="correct the name")


def _no_prediction(runner: Runner, request: Request, stop: str) -> None:
    del runner, request, stop


def _workload(given: Runnable) -> Workload:
    if isinstance(given, str):
        return resolve(given)
    if isinstance(given, Request):
        return Workload(name=given.label or "request", requests=(given,))
    if isinstance(given, Workload):
        return given
    _of_type(given, Sequence, "a workload is its name, a case file, a Request, a Workload or a list", "write for example run('unrelated:15')")
    listed = cast("Sequence[Any]", given)
    if not listed:
        raise BadValue(what="an empty list was given", why="a run has at least one request", hint="write for example run(['Why is the sky blue?'])")
    messages = _messages(listed)
    return Workload(name="messages" if messages else "requests", requests=messages or tuple(map(_request, listed)))


def _messages(given: Sequence[Any]) -> tuple[Request, ...]:
    """Return the one request of a chat's messages; none when `given` is something else."""
    pairs = [_pair(one) for one in given]
    if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
        return ()
    return (Request(messages=tuple((role, content) for role, content in pairs), label="messages"),)


def _pair(given: Any) -> tuple[Any, ...]:
    """Return a message as (role, content), something else as ()."""
    if isinstance(given, tuple | list):
        return tuple(cast("Sequence[Any]", given))
    if not isinstance(given, dict):
        return ()
    known = cast("dict[str, Any]", given)
    return tuple(known[name] for name in ("role", "content") if name in known)


def _policy(given: Policy) -> Policy:
    return _of_type(given, Policy, "a policy is a Policy", "write for example policy=kvlab.Policy.ollama('0.32.5')")


def _request(given: Request | str) -> Request:
    if isinstance(given, str):
        return Request(messages=(("user", given),), label="step")
    return _of_type(given, Request, "a step takes a text or a Request", "write for example step('Why is the sky blue?')")


def _of_type(given: T, kind: type[T], why: str, hint: str) -> T:
    if not isinstance(given, kind):
        raise BadValue(what=f"{given!r} was given", why=why, hint=hint)
    return given
