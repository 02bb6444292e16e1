"""Telling: events on their way into a recording, from whichever thread they come."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kvlab.events import Event, Log
from kvlab.probe.clock import Clock
from kvlab.recording import Recorder

SOURCE = "probe"
"""What a recording's manifest and its events call a probe."""


class Teller:
    """Stamps events and writes them."""

    def __init__(self, recorder: Recorder, clock: Clock, each: Callable[[Event], None] | None = None) -> None:
        self._recorder = recorder
        self._log = Log(SOURCE, clock.now)
        self._each = each
        self._lock = threading.Lock()

    def tell(self, *events: Event, request: int = 0) -> None:
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
