"""Records a runner's events while the server goes on: a thread writes, and a full disk ends the recording, not the answers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from kvlab.errors import KvlabError
from kvlab.events import Event
from kvlab.recording import Manifest, Recorder
from kvlab.serve.messages import Ready
from kvlab.shape import Shape

SOURCE = "serve"
"""The source of the events that the server adds to its runner's."""


def free_place(folder: Path, model: str) -> Path:
    """Return the place of a model's next recording in `folder`: `MODEL-1.kvrec`, or the next number that is free."""
    number = 1
    while (place := folder / f"{model.replace('/', '_')}-{number}.kvrec").exists():
        number += 1
    return place


class EventRecorder:
    """Stamps the events of one load of a model and writes them.

    Attributes:
        failure: Why it stopped writing; "" while it writes.
        place: The recording's folder; None when nothing is kept.
        written: Set once the recording is complete, and when there is none.
    """

    def __init__(self, place: Path | None, *, store_text: bool, see: Callable[[Event], None]) -> None:
        self.place = place
        self.failure = ""
        self._store_text = store_text
        self._see = see
        self._began = time.perf_counter()
        self._later = 0.0
        self._seq = 0
        self._recorder: Recorder | None = None
        self.written = anyio.Event()
        self._waiting: deque[Event] = deque()
        self._news = anyio.Event()
        self._ended = False

    def begin(self, ready: Ready) -> None:
        """Make the recording: what it is about is known once the model is loaded. Events until then wait."""
        self._later = ready.began - self._began
        if self.place is not None:
            manifest = Manifest.now(
                model=ready.model,
                origin=ready.origin,
                shape=Shape.from_dict(ready.shape),
                policy=ready.policy,
                workload="served",
                source="lab",
                stored_text=self._store_text,
            )
            try:
                self._recorder = Recorder(manifest, out=self.place, store_text=self._store_text)
            except KvlabError as error:
                self.failure = error.what

    def add(self, event: Event) -> None:
        """Record an event of the runner's."""
        event.t += self._later
        self._put(event)

    def add_own(self, event: Event) -> None:
        """Record an event of the server's, which happens now."""
        event.t, event.source = time.perf_counter() - self._began, SOURCE
        self._put(event)

    def end(self) -> None:
        """Nothing is added any more; `write` completes the recording."""
        self._ended = True
        self._news.set()
        if self._recorder is None:
            self.written.set()

    async def write(self) -> None:
        """Write events as they come, until `end`."""
        if self._recorder is None:
            return
        while self._waiting or not self._ended:
            held = [self._waiting.popleft() for _ in range(len(self._waiting))]
            # a part is written now and then, which takes up to some tenths of a second
            await run_sync(self._write, held)
            if not self._waiting and not self._ended:
                await self._news.wait()
                self._news = anyio.Event()
        await run_sync(self._finish)
        self.written.set()

    def _put(self, event: Event) -> None:
        event.seq = self._seq
        self._seq += 1
        self._see(event)
        if self.place is not None and not self.failure:
            self._waiting.append(event)
            self._news.set()

    def _write(self, held: list[Event]) -> None:
        if self._recorder is None or self.failure:
            return
        try:
            for event in held:
                self._recorder.write(event)
        except KvlabError as error:
            self.failure = error.what

    def _finish(self) -> None:
        if self._recorder is None:
            return
        try:
            self._recorder.finish()
        except KvlabError as error:
            self.failure = self.failure or error.what
