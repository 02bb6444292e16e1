"""RunnerProcess: the parent's end of a runner. It starts the process, passes requests to it and events from it, and knows why it ended.

What the process writes to stderr goes into a file of its own: no line is too long, and nothing blocks when nobody reads.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

import anyio
from anyio.abc import ObjectReceiveStream, Process, TaskGroup, TaskStatus, UNIXSocketStream
from anyio.streams.memory import MemoryObjectSendStream

from kvlab.errors import BadValue, KvlabError, NotAvailable, UnreadableInput
from kvlab.events import Event, RunnerChanged
from kvlab.serve.event_recorder import EventRecorder
from kvlab.serve.exit_cause import TAIL_BYTES, ExitCause, exit_cause, kills_for_memory
from kvlab.serve.figures import Figures
from kvlab.serve.messages import (
    AnyMessage,
    Cancel,
    Events,
    Failed,
    Finished,
    Generate,
    Inbox,
    LoadModel,
    Ping,
    Ready,
    Status,
    encode,
    unpack_event,
)

BEAT_S = 1.0
"""Seconds between two pings."""

SILENT_S = 60.0
"""Seconds without any message after which a runner is taken for hung and killed: it pings from a thread of its own, which swapping may hold up."""

SIGNAL_S = 5.0
"""Seconds that `close=signal` waits for an exit before it kills, as upstream did until v0.34."""

_ERRORS: dict[str, type[KvlabError]] = {kind.__name__: kind for kind in (BadValue, NotAvailable, UnreadableInput)}


@dataclass(frozen=True, slots=True)
class _Running:
    number: int
    events: MemoryObjectSendStream[Event | KvlabError]
    over: anyio.Event


class RunnerProcess:
    """One model in a process of its own.

    Attributes:
        load: What it was started with.
        recorder: Where its events go.
        figures: Its running totals.
        ready: What it reported when the model was loaded; None until then.
        status: Its last report.
        loaded: Set once the load has ended, well or not.
        ended: Set once the process is gone and its last event recorded.
        cause: Why it ended; None until then.
        load_s: Seconds from the start of the process to the loaded model.
        program: What Python runs in the process.
    """

    program: ClassVar[tuple[str, ...]] = ("-m", "kvlab.serve.child")

    def __init__(self, load: LoadModel, place: Path | None) -> None:
        self.load = load
        self.figures = Figures()
        self.recorder = EventRecorder(place, store_text=load.store_text, see=self.figures.see)
        self.ready: Ready | None = None
        self.status: Status | None = None
        self.loaded, self.ended = anyio.Event(), anyio.Event()
        self.cause: ExitCause | None = None
        self.load_s = 0.0
        self._failure: KvlabError | None = None
        self._process: Process | None = None
        self._stream: UNIXSocketStream | None = None
        self._sending = anyio.Lock()
        self._running: _Running | None = None
        self._requests = 0
        self._starting = self._ordered = False
        self._heard = self._started = time.monotonic()
        self._answered = anyio.Event()

    @property
    def pid(self) -> int:
        """The process's number; 0 before it is started."""
        return self._process.pid if self._process is not None else 0

    @property
    def alive(self) -> bool:
        """Whether requests can be sent to it."""
        return self.ready is not None and self.cause is None and not self._ordered

    @property
    def held(self) -> int:
        """Bytes that its allocator has in use and in its pool, as it last reported: what upstream lists as a model's size."""
        status = self.status
        return self.figures.held if status is None or status.active is None else status.active + (status.pool or 0)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Start the process and serve it until it has ended. A process that cannot be started is a load that failed; after `close` none is started."""
        if self._ordered:
            self.loaded.set()
            self.ended.set()
            task_status.started()
            return
        self._starting = True
        try:
            await self._run(task_status)
        except OSError as error:
            why = f"the system refused: {error}"
            self._failure = NotAvailable(f"no runner process for {self.load.model} can be started", why, "end other programs, or make room on the disk")
            self.loaded.set()
            self.ended.set()
            task_status.started()

    async def _run(self, task_status: TaskStatus[None]) -> None:
        kills = kills_for_memory()
        with _stderr_file(self.recorder.place) as stderr:
            ours, theirs = socket.socketpair()
            with theirs:
                command = [sys.executable, *self.program, str(theirs.fileno())]
                self._process = await anyio.open_process(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, pass_fds=(theirs.fileno(),), start_new_session=True
                )
            self.recorder.add_own(RunnerChanged(state="starting", model=self.load.model, pid=self.pid))
            async with await UNIXSocketStream.from_socket(ours) as self._stream, _killed_at_the_end(self._process):
                task_status.started()
                if self._ordered:
                    # closed while it was being started
                    self._process.kill()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._beat)
                    await self._send(self.load)
                    # until the process has closed its end
                    await self._listen(tasks)
                    with anyio.move_on_after(SIGNAL_S):
                        await self._process.wait()
                    if self._process.returncode is None:
                        self._process.kill()
                    returncode = await self._process.wait()
                    cause = exit_cause(returncode, _tail(stderr), ordered=self._ordered, kills=kills_for_memory() - kills)
                    self._end(cause)
                    await self.recorder.written.wait()
                    tasks.cancel_scope.cancel()
        self.ended.set()

    async def wait_loaded(self) -> Ready:
        """Wait until the model is loaded.

        Raises:
            KvlabError: it cannot be loaded, or the process ended.
        """
        await self.loaded.wait()
        if self._failure is not None:
            raise self._failure
        if self.ready is None:
            raise self._ended_error()
        return self.ready

    @asynccontextmanager
    async def generate(self, message: Generate) -> AsyncGenerator[ObjectReceiveStream[Event | KvlabError]]:
        """Run a request; the value is its events as they happen, the last one an error if it failed. Leaving early cancels it and waits for its end.

        Raises:
            RunnerEnded: the process is gone.
        """
        if not self.alive:
            raise self._ended_error()
        send, receive = anyio.create_memory_object_stream[Event | KvlabError](max_buffer_size=float("inf"))
        self._running = running = _Running(message.number, send, anyio.Event())
        try:
            await self._send(message)
            yield receive
        finally:
            with anyio.CancelScope(shield=True):
                if not running.over.is_set():
                    await self.cancel(message.number)
                    await running.over.wait()
            self._running = None
            receive.close()

    async def cancel(self, number: int) -> None:
        """End a request at its next chunk or token."""
        await self._send(Cancel(number))

    def next_number(self) -> int:
        """Return a number for a new request."""
        self._requests += 1
        return self._requests

    async def ping(self, within_s: float) -> Status | None:
        """Return the runner's report, the last one when it takes longer than `within_s` seconds."""
        self._answered = answered = anyio.Event()
        await self._send(Ping())
        with anyio.move_on_after(within_s):
            await answered.wait()
        return self.status

    async def close(self, how: str) -> None:
        """End the process: `reap` kills it and waits until it is gone, `signal` interrupts it and waits for at most `SIGNAL_S`, then kills and returns."""
        self._ordered = True
        self.recorder.add_own(RunnerChanged(state="stopping", model=self.load.model, pid=self.pid))
        process = self._process
        if process is None and self._starting:
            await self.ended.wait()
        if process is None or process.returncode is not None:
            return
        if how == "signal":
            process.send_signal(signal.SIGINT)
            with anyio.move_on_after(SIGNAL_S):
                await self.ended.wait()
                return
        process.kill()
        if how != "signal":
            await self.ended.wait()

    async def _send(self, message: AnyMessage) -> None:
        # when the process is gone, whoever waits for an answer gets the cause of its end
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with self._sending:
                if self._stream is not None:
                    await self._stream.send(encode(message))

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(BEAT_S)
            await self._send(Ping())
            if self._process is not None and time.monotonic() - self._heard > SILENT_S:
                self._process.kill()

    async def _listen(self, tasks: TaskGroup) -> None:
        inbox = Inbox()
        # ValueError: what came is no message of ours
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            while self._stream is not None:
                for message in inbox.add(await self._stream.receive()):
                    self._heard = time.monotonic()
                    if isinstance(message, Ready):
                        self.recorder.begin(message)
                        tasks.start_soon(self.recorder.write)
                    self._take(message)

    def _take(self, message: AnyMessage) -> None:
        running = self._running
        match message:
            case Status():
                self.status = message
                self._answered.set()
            case Ready():
                self.ready, self.load_s = message, time.monotonic() - self._started
                self.recorder.add_own(RunnerChanged(state="loaded", model=self.load.model, pid=self.pid))
                self.loaded.set()
            case Events():
                for event in map(unpack_event, message.packed):
                    self.recorder.add(event)
                    if running is not None:
                        running.events.send_nowait(event)
            case Failed():
                error = _ERRORS.get(message.error, NotAvailable)(message.what, message.why, message.hint)
                if message.number == 0:
                    self._failure = error
                elif running is not None:
                    running.events.send_nowait(error)
            case Finished() if running is not None and running.number == message.number:
                running.events.close()
                running.over.set()
            case _:
                pass

    def _ended_error(self) -> KvlabError:
        cause = self.cause or ExitCause(None, "", ordered=True, out_of_memory=False, last_line="")
        return cause.error(self.load.model)

    def _end(self, cause: ExitCause) -> None:
        self.cause = cause
        self.recorder.add_own(RunnerChanged(state="unloaded" if self.ready is not None else "failed", model=self.load.model, pid=self.pid))
        self.recorder.end()
        if (running := self._running) is not None and not running.over.is_set():
            running.events.send_nowait(cause.error(self.load.model))
            running.events.close()
            running.over.set()
        self.loaded.set()


def _stderr_file(place: Path | None) -> IO[bytes]:
    return tempfile.TemporaryFile() if place is None else place.with_suffix(".stderr.txt").open("w+b")


def _tail(stderr: IO[bytes]) -> bytes:
    stderr.seek(max(0, stderr.seek(0, 2) - TAIL_BYTES))
    return stderr.read()


@asynccontextmanager
async def _killed_at_the_end(process: Process) -> AsyncGenerator[None]:
    """Leave no process behind, however the block ends."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()
