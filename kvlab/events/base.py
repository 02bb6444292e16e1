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


TOKENS, MOVES, READINGS, RANKS = TOPICS = ("tokens_but_the_last", "snapshot_allocations", "prefill_readings", "eviction_order_and_buffers")
"""What a log may leave out: nothing else follows from it, and it is most of what a long run records."""


class Log:
    """Events in the order in which they happened.

    `append` stamps an event; `drain` hands over what came since the last drain.

    Attributes:
        source: What events are stamped with that do not name their own.
        request: The request that runs now; 0 outside any.
        left_out: What is not recorded, of `TOPICS`: whoever would record it asks `wants` first.
        mark: Called with each event before it is stamped; None for no call.
    """

    __slots__ = ("_clock", "_events", "_seq", "_start", "left_out", "mark", "request", "source")

    def __init__(self, source: str = "lab", clock: Callable[[], float] = time.perf_counter, mark: Callable[[Event], None] | None = None) -> None:
        self.source = source
        self.request = 0
        self.left_out: frozenset[str] = frozenset()
        self.mark = mark
        self._clock = clock
        self._start = clock()
        self._events: deque[Event] = deque()
        self._seq = 0

    def wants(self, topic: str) -> bool:
        """Whether events on one of `TOPICS` are recorded."""
        return topic not in self.left_out

    def append(self, event: Event) -> None:
        """Stamp `event` with its place, its time, the current request and the source (unless it names its own)."""
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


class NullLog(Log):
    """A log that keeps nothing."""

    __slots__ = ()

    def wants(self, topic: str) -> bool:
        """Nothing is recorded."""
        del topic
        return False

    def append(self, event: Event) -> None:
        """Drop `event`."""
