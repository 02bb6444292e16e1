"""A clock that is moved by hand, and a runner without a process, for the scheduler's rules."""

from __future__ import annotations

import heapq
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import anyio
from anyio.abc import ObjectReceiveStream, TaskStatus

from kvlab.errors import KvlabError, NotAvailable
from kvlab.events import Event, Matched, RequestClosed, TokenOut
from kvlab.serve.exit_cause import ExitCause
from kvlab.serve.messages import Generate, LoadModel, Ready, Status
from kvlab.serve.runner_process import RunnerProcess


class ManualClock:
    """Time passes when `advance` is called."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleeping: list[tuple[float, int, anyio.Event]] = []

    def now(self) -> float:
        return self._now

    async def sleep_until(self, moment: float) -> None:
        if moment > self._now:
            woken = anyio.Event()
            heapq.heappush(self._sleeping, (moment, len(self._sleeping), woken))
            await woken.wait()

    async def advance(self, seconds: float) -> None:
        self._now += seconds
        while self._sleeping and self._sleeping[0][0] <= self._now:
            heapq.heappop(self._sleeping)[2].set()
        await anyio.wait_all_tasks_blocked()


class FakeRunner(RunnerProcess):
    """Loads at once and writes down what happens.

    Attributes:
        said: What all runners did, in order.
        fails: Models that cannot be loaded.
        lingering: Runners that were interrupted: they end when the next one has started.
    """

    said: ClassVar[list[str]] = []
    fails: ClassVar[set[str]] = set()
    lingering: ClassVar[list[FakeRunner]] = []
    pids: ClassVar[int] = 1000

    def __init__(self, load: LoadModel, place: Path | None) -> None:
        super().__init__(load, place)
        self._pid = 0
        self._killed = anyio.Event()

    @property
    def pid(self) -> int:
        return self._pid

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        FakeRunner.pids += 1
        self._pid = FakeRunner.pids
        self.said.append(f"start {self.load.model}")
        task_status.started()
        while self.lingering:
            self.lingering.pop().die()
        if self.load.model in self.fails:
            self._failure = NotAvailable("no such weights", "they are gone", "get them")
        else:
            self.ready = Ready(self.load.model, {}, {}, {}, 4096, 0.0, tools=False)
        self.loaded.set()
        if self._failure is None:
            await self._killed.wait()
        self.cause = ExitCause(0, "", ordered=self._ordered, out_of_memory=False, last_line="")
        self.said.append(f"gone {self.load.model}")
        self.ended.set()

    async def close(self, how: str) -> None:
        self._ordered = True
        if how == "signal":
            self.lingering.append(self)
        else:
            self._killed.set()
            await self.ended.wait()

    @asynccontextmanager
    async def generate(self, message: Generate) -> AsyncGenerator[ObjectReceiveStream[Event | KvlabError]]:
        del message
        send, receive = anyio.create_memory_object_stream[Event | KvlabError](max_buffer_size=10)
        with send, receive:
            for event in (Matched(tokens=3, matched=2, cached=1, left=2), TokenOut(text="ok"), RequestClosed(generated=1, stop="stop_token")):
                self.figures.see(event)
                send.send_nowait(event)
            send.close()
            yield receive

    async def ping(self, within_s: float) -> Status | None:
        del within_s
        return None

    def die(self) -> None:
        """End as if killed from outside."""
        self._killed.set()
