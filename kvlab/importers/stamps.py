"""Moments as sources write them, and seconds since the first of them.

Invariant: a moment that cannot be read leaves the clock where it was; time zones are taken into account, a moment without one is taken as it stands.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")


class Clock:
    """Turns moments into seconds since the first one.

    Attributes:
        first: The first moment, as it was found; "" before it.
        seconds: Seconds since then of the last moment that was read.
    """

    __slots__ = ("_base", "first", "seconds")

    def __init__(self) -> None:
        self._base: datetime | None = None
        self.first = ""
        self.seconds = 0.0

    def read(self, stamp: str) -> float:
        """Move to the moment `stamp` (ISO 8601) and return the seconds since the first one."""
        try:
            moment = datetime.fromisoformat(stamp)
            at = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            if self._base is None:
                self._base, self.first = at, stamp
            self.seconds = (at - self._base).total_seconds()
        except (ValueError, OverflowError):
            pass
        return self.seconds


def find_moment(text: str) -> str:
    """Return the first ISO moment in `text`, in a form that `Clock.read` takes; "" when there is none."""
    found = _ISO.search(text)
    return found[0].replace(",", ".") if found else ""
