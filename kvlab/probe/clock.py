"""Clock: the time that a probe goes by. It is handed in, so that no test has to wait."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

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
