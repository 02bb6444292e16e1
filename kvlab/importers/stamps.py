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

    __slots__ = ("_base", "_second", "_since", "_zone", "first", "seconds")

    def __init__(self) -> None:
        self._base: datetime | None = None
        self._second = self._zone = b""
        self._since = 0.0
        self.first = ""
        self.seconds = 0.0

    def read_bytes(self, stamp: bytes) -> float:
        """Do the same for a moment as a log writes it, with milliseconds and a zone: most lines stand in the same second as the last one."""
        if stamp[:19] == self._second and stamp[23:] == self._zone and stamp[19:20] == b".":
            part = stamp[20:23]
            if part.isdigit():
                self.seconds = self._since + int(part) / 1000
            return self.seconds
        seconds = self.read(stamp.decode("ascii", "replace"))
        part = stamp[20:23]
        if stamp[19:20] == b"." and part.isdigit() and len(part) == 3:
            self._second, self._zone, self._since = stamp[:19], stamp[23:], seconds - int(part) / 1000
        return seconds

    def read(self, stamp: str) -> float:
        """Move to the moment `stamp` (ISO 8601) and return the seconds since the first one."""
        try:
            moment = datetime.fromisoformat(stamp)
            at = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            if self._base is None:
                self._base, self.first = at, stamp
            self.seconds = (at - self._base).total_seconds()
        except (ValueError, OverflowError):
            self._second = b""
        return self.seconds


def find_moment(text: str) -> str:
    """Return the first ISO moment in `text`, in a form that `Clock.read` takes; "" when there is none."""
    found = _ISO.search(text)
    return found[0].replace(",", ".") if found else ""
