"""Events on their way into a recording, from whichever thread they come, stamped by the clock that a probe goes by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from kvlab.events import Event, LifeSign, Log
from kvlab.recording import Recorder

SOURCE = "probe"
"""The source in a probe's manifest and events."""


class Clock(Protocol):
    """Returns the time and waits. A probe is given one, so that no test has to wait."""

    def now(self) -> float:
        """Return seconds that only go forward, from any beginning."""
        ...

    def wait(self, seconds: float) -> None:
        """Return when `seconds` have passed."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return the seconds of the machine's monotonic clock."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait; an interruption from the keyboard ends it."""
        time.sleep(max(0.0, seconds))


class EventWriter:
    """Stamps events and writes them.

    Attributes:
        clock: The time of the events.
    """

    def __init__(self, recorder: Recorder, clock: Clock, each: Callable[[Event], None] | None = None) -> None:
        self.clock = clock
        self._recorder = recorder
        self._log = Log(SOURCE, clock.now)
        self._each = each
        self._lock = threading.Lock()

    def write(self, *events: Event, request: int = 0) -> None:
        """Write events of `request`; 0 for those outside any.

        Raises:
            UnreadableInput: the recording cannot be written.
        """
        with self._lock:
            self._log.request = request
            for event in events:
                self._log.append(event)
            for event in self._log.drain():
                self._recorder.write(event)
                if self._each is not None:
                    self._each(event)

    def sign(self, state: str, message: str, request: int, *, model: str = "", seconds: float = 0.0, pid: int | None = None) -> None:
        """Write one sign of life, a state of `kvlab.events.LIFE_SIGNS`."""
        self.write(LifeSign(state=state, model=model, message=message, seconds=seconds, pid=pid), request=request)
