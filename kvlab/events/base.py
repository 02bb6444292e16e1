"""What all events have, and the log that stamps them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar


@dataclass(slots=True)
class Event:
    """What all events have: `seq` (place in the log), `t` (seconds since the log began), `request` and `source`."""

    kind: ClassVar[str] = ""
    seq: int = -1
    t: float = 0.0
    request: int = 0
    source: str = ""


class Log:
    """Events in the order in which they happened.

    `append` stamps an event; `drain` hands over what came since the last drain. A log that is `off` keeps nothing.

    Attributes:
        source: What events are stamped with that do not name their own.
        request: The request that runs now; 0 outside any.
        off: Nothing is kept.
        mark: Called with each event before it is stamped; None for no call.
    """

    __slots__ = ("_clock", "_events", "_seq", "_start", "mark", "off", "request", "source")

    def __init__(self, source: str = "lab", clock: Callable[[], float] = time.perf_counter, mark: Callable[[Event], None] | None = None) -> None:
        self.source = source
        self.request = 0
        self.off = False
        self.mark = mark
        self._clock = clock
        self._start = clock()
        self._events: deque[Event] = deque()
        self._seq = 0

    def append(self, event: Event) -> None:
        """Stamp `event` with its place, its time, the current request and the source (unless it names its own)."""
        if self.off:
            return
        if self.mark is not None:
            self.mark(event)
        event.seq = self._seq
        event.t = self._clock() - self._start
        event.request = self.request
        event.source = event.source or self.source
        self._seq += 1
        self._events.append(event)

    def drain(self) -> Iterator[Event]:
        """Yield the events appended since the last drain, oldest first. What a reader who stops early has not seen stays for the next one."""
        while self._events:
            yield self._events.popleft()
