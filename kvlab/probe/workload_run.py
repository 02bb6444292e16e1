"""A workload against a live server, within bounds, a row a request. Nothing is unloaded, stopped or restarted unless the workload says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kvlab.events import Warned
from kvlab.probe.asking import Answer, Asked, Asking
from kvlab.probe.clock import Clock
from kvlab.probe.connection import Connection
from kvlab.probe.looking import Looking
from kvlab.probe.plan import Numbered, Step, steps
from kvlab.probe.restarting import LOOK_S, Restarting
from kvlab.probe.server import Server
from kvlab.probe.telling import Teller
from kvlab.probe.unloading import Unloading
from kvlab.workloads import Conversations, Request, Workload
from kvlab.workloads.marks import Marks

MOST_FAILURES = 3
"""Requests in a row that a server may fail to answer before the run ends."""

BACK_S = 30.0
"""Seconds that a server which answered before, and no longer does, has to come back before the next request is sent."""

_LEFT_OUT = {"stop": "the workload unloads by `ollama stop`, and the command ollama is not installed here: this part is left out"}
_NOT_OURS = "the workload asks for {!r}, which a probe does not do; do it by hand while kvlab probe --watch looks on"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a run may do.

    Attributes:
        requests: Requests at most; None for all of the workload.
        seconds: Seconds at most; a request that runs then is given up.
    """

    requests: int | None = None
    seconds: float = 3600.0


class WorkloadRun:
    """One run of a workload against a server; `ways` says how its actions unload, and holds none that cannot be done here."""

    def __init__(
        self, server: Server, looking: Looking, teller: Teller, clock: Clock, unloading: Unloading, restarting: Restarting, ways: Mapping[str, str]
    ) -> None:
        self._server = server
        self._looking = looking
        self._teller = teller
        self._clock = clock
        self._unloading = unloading
        self._restarting = restarting
        self._ways = ways
        self._conversations = Conversations()
        self._marks = Marks()
        self._lock = threading.Lock()
        self._failures = 0
        self._answered = False
        self._open: set[Connection] = set()
        self._until = 0.0

    def run(self, workload: Workload, asked: Asked, bounds: Bounds, after: Callable[[int], None]) -> None:
        """Run it; `after` is called with the number of requests of each step that is done.

        Raises:
            Forbidden: this probe only reads.
            NotAvailable: a request cannot be put to a server.
        """
        self._until = self._clock.now() + bounds.seconds
        self._looking.look()
        for step in steps(workload, bounds.requests):
            if self._left_s() <= 0:
                self._teller.tell(Warned(message=f"the run's {bounds.seconds:g} s are over; it ends before request {step.first} of {len(workload)}"))
                return
            if self._failures >= MOST_FAILURES:
                self._teller.tell(Warned(message=f"{self._failures} requests in a row failed; the run ends before request {step.first} of {len(workload)}"))
                return
            self._step(step, asked)
            after(len(step.requests))
        if bounds.requests is not None and bounds.requests < len(workload):
            self._teller.tell(Warned(message=f"the run ends after {bounds.requests} of {len(workload)} requests, as it was bound to"))

    def _left_s(self) -> float:
        return self._until - self._clock.now()

    def _step(self, step: Step, asked: Asked) -> None:
        number, request = step.requests[0]
        if request.action:
            self._act(number, request, asked.model)
            return
        asked = replace(asked, context=step.context or asked.context, concurrency=len(step.requests))
        answers = self._at_once(step.requests, asked) if len(step.requests) > 1 else {number: self._one(number, request, asked)}
        sample = self._looking.settled(sorted(answers))
        if sample.models is not None:
            self._answered = True
        elif self._answered:
            self._wait_until_back(max(answers))
        for place, answer in answers.items():
            if answer.trouble is None:
                self._unloading.answered(sample, place, answer.load_s)

    def _wait_until_back(self, request: int) -> None:
        """Give a server that answered before the time that a restart takes; once, until it answers again."""
        self._answered = False
        until = self._clock.now() + min(BACK_S, self._left_s())
        while self._clock.now() < until:
            self._clock.wait(LOOK_S)
            if self._looking.look([request]).models is not None:
                self._answered = True
                return

    def _act(self, number: int, request: Request, model: str) -> None:
        if request.action == "restart":
            before = self._restarting.restart(model, number, self._left_s())
            if before is not None:
                self._unloading.ended(before)
        elif way := self._ways.get(request.action):
            self._unloading.unload(model, number, way)
        else:
            self._teller.tell(Warned(message=_LEFT_OUT.get(request.action, _NOT_OURS.format(request.action))), request=number)

    def _one(self, number: int, given: Request, asked: Asked) -> Answer:
        """Send one request and wait for its answer."""
        with self._lock:
            request = self._conversations.resolve(given)
            self._marks.sent(number, request)
            connection = self._server.connection()
            self._open.add(connection)
        answer = Asking(self._server, self._teller, self._clock, self._left_s).ask(number, request, asked, connection)
        with self._lock:
            self._open.discard(connection)
            self._failures = 0 if answer.trouble is None else self._failures + 1
            told = self._marks.answered(request, answer.text) if answer.trouble is None else []
            self._conversations.closed(request, (), (), answer.text)
        self._teller.tell(*told, request=number)
        return answer

    def _at_once(self, requests: Sequence[Numbered], asked: Asked) -> dict[int, Answer]:
        answers: dict[int, Answer] = {}
        errors: list[BaseException] = []

        def one(number: int, request: Request) -> None:
            try:
                answers[number] = self._one(number, request, asked)
            except BaseException as error:  # noqa: BLE001  it is raised again where the run waits
                errors.append(error)

        threads = [threading.Thread(target=one, args=numbered, daemon=True) for numbered in requests]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            # whoever waits for a reply is woken, and tells that it was cancelled
            self.abort()
            for thread in threads:
                thread.join()
            raise
        for error in errors:
            raise error
        return answers

    def abort(self) -> None:
        """End all requests that run."""
        self._until = self._clock.now()
        with self._lock:
            for connection in self._open:
                connection.abort()
