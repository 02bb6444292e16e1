"""A workload against a live server, within bounds, a row a request. Nothing is unloaded, stopped or restarted unless the workload says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kvlab.events import Warned
from kvlab.probe.connection import Connection
from kvlab.probe.monitor import Monitor
from kvlab.probe.plan import Numbered, Step, steps
from kvlab.probe.restarting import SAMPLE_S, Restarting
from kvlab.probe.sending import Answer, Sender, SendOptions
from kvlab.probe.server import Server
from kvlab.probe.unloading import Unloading
from kvlab.probe.writer import EventWriter
from kvlab.workloads import Conversations, Request, Workload
from kvlab.workloads.marks import Marks

MOST_FAILURES = 3
"""Requests in a row that a server may fail to answer before the run ends."""

BACK_S = 30.0
"""Seconds that a server which answered before, and no longer does, has to come back before the next request is sent."""

_LEFT_OUT = {"stop": "the workload unloads by `ollama stop`, and the command ollama is not installed here: this part is left out"}
_NOT_OURS = "the workload has the action {!r}, which a probe does not do; do it by hand while kvlab probe --watch records"


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

    def __init__(self, server: Server, monitor: Monitor, writer: EventWriter, unloading: Unloading, restarting: Restarting, ways: Mapping[str, str]) -> None:
        self._server = server
        self._monitor = monitor
        self._writer = writer
        self._now = writer.clock.now
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

    def run(self, workload: Workload, options: SendOptions, bounds: Bounds, after: Callable[[int], object]) -> None:
        """Run it; `after` is called with the number of requests of each step that is done.

        Raises:
            Forbidden: this probe only reads.
            NotAvailable: a request cannot be sent to a server.
        """
        self._until = self._now() + bounds.seconds
        self._monitor.sample()
        for step in steps(workload, bounds.requests):
            if self._left_s() <= 0:
                self._warn(f"the run's {bounds.seconds:g} s are over; it ends before request {step.first} of {len(workload)}")
                return
            if self._failures >= MOST_FAILURES:
                self._warn(f"{self._failures} requests in a row failed; the run ends before request {step.first} of {len(workload)}")
                return
            self._step(step, options)
            after(len(step.requests))
        if bounds.requests is not None and bounds.requests < len(workload):
            self._warn(f"the run ends after {bounds.requests} of {len(workload)} requests, as many as it was allowed")

    def _left_s(self) -> float:
        return self._until - self._now()

    def _warn(self, message: str, request: int = 0) -> None:
        self._writer.write(Warned(message=message), request=request)

    def _step(self, step: Step, options: SendOptions) -> None:
        number, request = step.requests[0]
        if request.action:
            self._act(number, request, options.model)
            return
        options = replace(options, context=step.context or options.context, concurrency=len(step.requests))
        answers = self._at_once(step.requests, options) if len(step.requests) > 1 else {number: self._one(number, request, options)}
        sample = self._monitor.settled(sorted(answers))
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
        until = self._now() + min(BACK_S, self._left_s())
        while self._now() < until:
            self._writer.clock.wait(SAMPLE_S)
            if self._monitor.sample([request]).models is not None:
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
            self._warn(_LEFT_OUT.get(request.action, _NOT_OURS.format(request.action)), number)

    def _one(self, number: int, given: Request, options: SendOptions) -> Answer:
        """Send one request and wait for its answer."""
        with self._lock:
            request = self._conversations.resolve(given)
            self._marks.sent(number, request)
            connection = self._server.connection()
            self._open.add(connection)
        answer = Sender(self._server, self._writer, self._left_s).send(number, request, options, connection)
        with self._lock:
            self._open.discard(connection)
            self._failures = 0 if answer.trouble is None else self._failures + 1
            marks = self._marks.answered(request, answer.text) if answer.trouble is None else []
            self._conversations.closed(request, (), (), answer.text)
        self._writer.write(*marks, request=number)
        return answer

    def _at_once(self, requests: Sequence[Numbered], options: SendOptions) -> dict[int, Answer]:
        answers: dict[int, Answer] = {}
        errors: list[BaseException] = []

        def one(number: int, request: Request) -> None:
            try:
                answers[number] = self._one(number, request, options)
            except BaseException as error:  # noqa: BLE001  it is raised again where the run waits
                errors.append(error)

        threads = [threading.Thread(target=one, args=numbered, daemon=True) for numbered in requests]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            # each thread that waits for a reply is woken, and records that it was cancelled
            self.abort()
            for thread in threads:
                thread.join()
            raise
        for error in errors:
            raise error
        return answers

    def abort(self) -> None:
        """End all requests that run."""
        self._until = self._now()
        with self._lock:
            for connection in self._open:
                connection.abort()
