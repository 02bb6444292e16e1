"""Scheduler: which models are loaded, and whose turn it is. One load at a time; of one runner, one request at a time.

Invariants: a model has one runner at most; a runner with a request is never closed unless the server ends; under `close=reap` no load begins while
a closed runner's process is there; a model that is to go takes no new request: who wants it waits until it is gone and loads it again.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from kvlab.errors import BadValue
from kvlab.events import RunnerChanged
from kvlab.serve.catalogue import file_bytes
from kvlab.serve.event_recorder import free_place
from kvlab.serve.fair_queue import FairQueue
from kvlab.serve.fit import MachineBytes, machine_bytes, room
from kvlab.serve.keep_alive import Clock, SystemClock
from kvlab.serve.messages import LoadModel
from kvlab.serve.runner_process import RunnerProcess
from kvlab.serve.settings import Settings

Start = Callable[[LoadModel, Path | None], RunnerProcess]
"""Makes a runner; a test may give another one."""


class UnknownModel(BadValue):
    """The server has no model of that name (HTTP 404)."""


@dataclass(slots=True)
class Entry:
    """A model that is loaded, or on its way.

    Attributes:
        name: Its name.
        runner: Its process.
        queue: Whose turn it is.
        users: Requests that hold it, waiting ones too.
        keep_alive_s: How long it stays after the last one; each request's own replaces it.
        used: When a request last held it; orders the idle ones.
        expires: When it goes, by the scheduler's clock; None while it is in use.
        going: It is to be closed as soon as no request holds it.
        closing: It is being closed.
        gone: Set once it is closed.
        timer: What waits for its end.
    """

    name: str
    runner: RunnerProcess
    queue: FairQueue
    keep_alive_s: float
    users: int = 0
    used: int = 0
    expires: float | None = None
    going: bool = False
    closing: bool = False
    gone: anyio.Event = field(default_factory=anyio.Event)
    timer: anyio.CancelScope = field(default_factory=anyio.CancelScope)


@dataclass(frozen=True, slots=True)
class Held:
    """A runner whose turn it is: `load_s` is what this request waited for its model."""

    runner: RunnerProcess
    load_s: float


class Scheduler:
    """Loads, keeps, and closes runners.

    Args:
        settings: What the server was started with.
        tasks: Where loads and runners run.
        clock: What keep-alive goes by.
        start: Makes a runner.
        machine: Reads the machine's bytes.
    """

    def __init__(
        self,
        settings: Settings,
        tasks: TaskGroup,
        clock: Clock | None = None,
        start: Start = RunnerProcess,
        machine: Callable[[], MachineBytes] = machine_bytes,
    ) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self._tasks = tasks
        self._start = start
        self._machine = machine
        self._entries: dict[str, Entry] = {}
        self._loading = anyio.Lock()
        self._uses = count(1)
        self._ends = False

    def known(self, model: str) -> str:
        """Return the served name that `model` means; `NAME:latest` is NAME.

        Raises:
            UnknownModel: there is none.
        """
        name = model.removesuffix(":latest")
        if name not in self.settings.models:
            served = ", ".join(self.settings.models)
            raise UnknownModel(what=f"model '{model}' not found", why=f"this server has {served}", hint="name it when the server is started: kvlab serve MODEL")
        return name

    def entries(self) -> list[Entry]:
        """Return what is loaded, by the longest remaining life."""
        loaded = [entry for entry in self._entries.values() if entry.runner.ready is not None and entry.runner.cause is None]
        return sorted(loaded, key=self.remaining, reverse=True)

    def remaining(self, entry: Entry) -> float:
        """Return the seconds until an entry goes; of one in use, its keep-alive."""
        return entry.keep_alive_s if entry.expires is None else entry.expires - self.clock.now()

    @asynccontextmanager
    async def using(self, model: str, keep_alive_s: float, client: str) -> AsyncGenerator[Held]:
        """Hold a model's runner for one request: load it if need be, wait for a turn.

        Raises:
            KvlabError: the model is not known, or cannot be loaded, or too many wait.
        """
        began = time.monotonic()
        entry = await self._acquire(self.known(model), keep_alive_s)
        loaded = time.monotonic()
        try:
            async with entry.queue.turn(client):
                yield Held(entry.runner, loaded - began)
        finally:
            self._release(entry)

    async def load(self, model: str, keep_alive_s: float) -> float:
        """Load a model without a request; return the seconds that it took.

        Raises:
            KvlabError: it is not known, or cannot be loaded.
        """
        began = time.monotonic()
        self._release(await self._acquire(self.known(model), keep_alive_s))
        return time.monotonic() - began

    def expire(self, model: str) -> None:
        """Let a model go as soon as no request holds it; nothing happens to one that is not loaded.

        Raises:
            UnknownModel: there is none of that name.
        """
        entry = self._entries.get(self.known(model))
        if entry is not None and entry.runner.ready is not None:
            entry.keep_alive_s = 0.0
            self._go_when_idle(entry)

    async def close(self) -> None:
        """End every runner: the server ends."""
        self._ends = True
        async with anyio.create_task_group() as closing:
            for entry in list(self._entries.values()):
                entry.timer.cancel()
                closing.start_soon(entry.runner.close, "reap")

    async def _acquire(self, name: str, keep_alive_s: float) -> Entry:
        while True:
            entry = self._entries.get(name)
            if entry is None:
                entry = await self._new(name, keep_alive_s)
            elif entry.going or entry.runner.cause is not None:
                await entry.gone.wait()
                continue
            entry.users += 1
            entry.timer.cancel()
            try:
                await entry.runner.wait_loaded()
            except BaseException:
                self._release(entry)
                raise
            entry.expires, entry.keep_alive_s = None, keep_alive_s
            return entry

    async def _new(self, name: str, keep_alive_s: float) -> Entry:
        settings = self.settings
        load = LoadModel(
            settings.models[name],
            settings.policy.to_dict(),
            own_chunk=settings.own_chunk,
            accept_licence=settings.accept_licence,
            store_text=settings.store_text,
        )
        place = None if settings.out is None else free_place(settings.out, name)
        entry = Entry(name, self._start(load, place), FairQueue(settings.most_waiting), keep_alive_s)
        self._entries[name] = entry
        self._tasks.start_soon(self._live, entry)
        return entry

    async def _live(self, entry: Entry) -> None:
        """See an entry from its load to its end. A client that leaves does not end a load."""
        try:
            async with self._loading:
                await self._make_room(entry)
                if self._ends:
                    entry.runner.loaded.set()
                    return
                await self._tasks.start(entry.runner.run)
                await entry.runner.loaded.wait()
            await entry.runner.ended.wait()
        finally:
            # with `close=signal` it was taken off the list before its process was gone
            self._remove(entry)

    async def _make_room(self, entry: Entry) -> None:
        # those that still wait for their load take no room
        while others := [other for other in self._entries.values() if other.runner.pid and other is not entry]:
            if self._ends or (len(others) < self.settings.most_loaded and self._fits(entry, others)):
                return
            await self._let_one_go(others)

    def _fits(self, entry: Entry, others: Iterable[Entry]) -> bool:
        held = sum(other.runner.held for other in others)
        return file_bytes(self.settings.models[entry.name]) <= room(self.settings.policy.fit, self._machine(), held)

    async def _let_one_go(self, others: Iterable[Entry]) -> None:
        """Close the idle model that was used least recently; when none is idle, the one used least recently goes as soon as it is."""
        victim = min(others, key=lambda other: (other.users > 0, other.used))
        self._go_when_idle(victim)
        await victim.gone.wait()

    def _release(self, entry: Entry) -> None:
        entry.users -= 1
        entry.used = next(self._uses)
        if entry.users or not entry.runner.alive or self._ends:
            return
        if entry.going or entry.keep_alive_s <= 0:
            self._go_when_idle(entry)
            return
        entry.expires = self.clock.now() + entry.keep_alive_s
        entry.runner.recorder.add_own(RunnerChanged(state="idle", model=entry.name, pid=entry.runner.pid))
        if not math.isinf(entry.keep_alive_s):
            entry.timer = anyio.CancelScope()
            self._tasks.start_soon(self._expire, entry, entry.timer)

    async def _expire(self, entry: Entry, timer: anyio.CancelScope) -> None:
        with timer:
            await self.clock.sleep_until(entry.expires or 0.0)
        if not timer.cancel_called and not entry.users:
            entry.runner.recorder.add_own(RunnerChanged(state="expired", model=entry.name, pid=entry.runner.pid))
            self._go_when_idle(entry)

    def _go_when_idle(self, entry: Entry) -> None:
        entry.going = True
        if not entry.users and not entry.closing:
            entry.closing = True
            self._tasks.start_soon(self._closed, entry)

    async def _closed(self, entry: Entry) -> None:
        entry.timer.cancel()
        await entry.runner.close(self.settings.policy.close)
        self._remove(entry)

    def _remove(self, entry: Entry) -> None:
        if self._entries.get(entry.name) is entry:
            del self._entries[entry.name]
        entry.gone.set()
