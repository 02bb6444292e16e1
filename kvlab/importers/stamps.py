"""Moments as sources write them, and seconds since the first of them.

Invariant: a moment that cannot be read leaves the clock where it was; time zones are taken into account, a moment without one is taken as it is.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")

SEPARATOR = re.compile(r"[\s=#*\-]*(?:(?:date|time|ts|at):?\s*)?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?[\s=#*\-]*")
"""A line that names the moment of what follows, and nothing else."""

BACK = 1.0
"""Seconds by which lines of one log may be out of order: their writers run at one time."""


class Clock:
    """Turns moments into seconds since the first one.

    Attributes:
        first: The first moment, as it was found; "" before it.
        seconds: Seconds since then of the last moment that was read.
        back: By how many seconds a moment of a log was before an earlier line's, at most; 0 for steps of up to `BACK` seconds.
    """

    __slots__ = ("_base", "_latest", "back", "first", "seconds")

    def __init__(self) -> None:
        self._base: datetime | None = None
        self.first = ""
        self.seconds = self.back = self._latest = 0.0

    def read(self, stamp: str, *, in_order: bool = True) -> float:
        """Move to the moment `stamp` (ISO 8601) and return the seconds since the first one; moments `in_order` never go back unless the clock was set."""
        try:
            moment = datetime.fromisoformat(stamp)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            if self._base is None:
                self._base, self.first = moment, stamp
            self.seconds = seconds = (moment - self._base).total_seconds()
        except (ValueError, OverflowError):
            return self.seconds
        if in_order:
            if seconds >= self._latest:
                self._latest = seconds
            elif self._latest - seconds > max(BACK, self.back):
                self.back = self._latest - seconds
        return seconds


def zoned(moment: str, like: str) -> str:
    """Return a moment with the zone of `like`, when it has none itself."""
    try:
        zone = datetime.fromisoformat(like).tzinfo
        at = datetime.fromisoformat(moment)
        return moment if zone is None or at.tzinfo is not None else at.replace(tzinfo=zone).isoformat()
    except (ValueError, OverflowError):
        return moment


def seconds_between(first: str, last: str) -> float | None:
    """Return the seconds from one moment to another; None when one of them cannot be read. A moment without a zone is in UTC."""
    try:
        times = [datetime.fromisoformat(one) for one in (first, last)]
        begin, end = (one if one.tzinfo is not None else one.replace(tzinfo=UTC) for one in times)
        return (end - begin).total_seconds()
    except (ValueError, OverflowError):
        return None


_MONTHS = {name: place for place, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}
_DATE = re.compile(
    r"(?:\w{3} )?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?: (?P<half>[AP]M))?"
    r"(?: (?P<zone>[A-Z]{2,5}|[+-]\d{4}))? (?P<year>\d{4})"
)
_HTTP = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4})[ :](\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?")


def read_moment(text: str) -> str:
    """Return a moment as `date`, `ps` or a web server prints it in the form that `Clock.read` takes; an ISO one as it is; "" for none.

    A named zone such as CEST is left out: it does not say by how much.
    """
    if found := _ISO.search(text):
        return found[0].replace(",", ".")
    if found := _HTTP.search(text):
        return f"{found[3]}-{_MONTHS.get(found[2].lower(), 1):02d}-{found[1]}T{found[4]}{found[5] or ''}"
    found = _DATE.search(text)
    if found is None or found["month"].lower() not in _MONTHS:
        return ""
    hour = int(found["hour"]) % 12 + 12 * (found["half"] == "PM") if found["half"] else int(found["hour"])
    zone = found["zone"] if found["zone"] and found["zone"][0] in "+-" else "+00:00" if found["zone"] in ("UTC", "GMT") else ""
    return f"{found['year']}-{_MONTHS[found['month'].lower()]:02d}-{int(found['day']):02d}T{hour:02d}:{found['minute']}:{found['second']}{zone}"


def find_moment(text: str) -> str:
    """Return the first ISO moment in `text`, in a form that `Clock.read` takes; "" when there is none."""
    found = _ISO.search(text)
    return found[0].replace(",", ".") if found else ""
