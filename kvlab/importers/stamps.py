"""Moments as sources write them, and seconds since the first of them.

Invariant: a moment that cannot be read leaves the clock where it was; time zones are taken into account, a moment without one is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")

_BEGIN = len(b"time=")
_FORM = np.frombuffer(b"time=0000-00-00T00:00:00.000", np.uint8)
_DIGITS, _SIGNS = np.flatnonzero(ord("0") == _FORM), np.flatnonzero(ord("0") != _FORM)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_LEAST = -62_135_596_800
"""The first second that a datetime holds."""


class Clock:
    """Turns moments into seconds since the first one.

    Attributes:
        first: The first moment, as it was found; "" before it.
        seconds: Seconds since then of the last moment that was read.
    """

    __slots__ = ("_base", "_second", "_since_ms", "_zone", "first", "seconds")

    def __init__(self) -> None:
        self._base: datetime | None = None
        self._second = self._zone = b""
        self._since_ms = 0
        self.first = ""
        self.seconds = 0.0

    def read_bytes(self, stamp: bytes) -> float:
        """Do the same for a moment as a log writes it, with milliseconds and a zone: most lines stand in the same second as the last one."""
        part = stamp[20:23]
        if stamp[:19] == self._second and stamp[23:] == self._zone and stamp[19:20] == b"." and part.isdigit():
            self.seconds = (self._since_ms + int(part)) / 1000
            return self.seconds
        before = self.seconds
        seconds = self.read(stamp.decode("ascii", "replace"))
        whole = round(seconds * 1000)
        if stamp[19:20] == b"." and part.isdigit() and len(part) == 3 and whole / 1000 == seconds != before:
            self._second, self._zone, self._since_ms = stamp[:19], stamp[23:], whole - int(part)
        return seconds

    def read_many(self, heads: Sequence[bytes]) -> NDArray[np.float64] | None:
        """Return the seconds of many moments, all as `time=2026-08-21T10:00:00.005Z ` with one and the same zone; None when one is of another form.

        The clock stays where it is.
        """
        text, width = b"".join(heads), len(heads[0])
        if self._base is None or width < len(_FORM) + 2 or len(text) != width * len(heads):
            return None
        letters = np.frombuffer(text, np.uint8).reshape(len(heads), width)
        rest, digits = letters[:, len(_FORM) :], letters[:, _DIGITS]
        if not ((letters[:, _SIGNS] == _FORM[_SIGNS]).all() and (rest == rest[0]).all() and ((digits >= ord("0")) & (digits <= ord("9"))).all()):
            return None
        try:
            zone = datetime.fromisoformat(heads[0][_BEGIN:-1].decode("ascii")).utcoffset()
            moments = np.ascontiguousarray(letters[:, _BEGIN : _BEGIN + 19]).view("S19").ravel().astype("datetime64[s]").astype(np.int64)
        except (ValueError, OverflowError):
            return None
        base = (self._base - _EPOCH) / _MS
        if heads[0][-1:] != b" " or zone is None or zone % _MS or not base.is_integer() or moments.min() < _LEAST:
            return None
        parts = digits[:, -3:].astype(np.int64) - ord("0")
        return (moments * 1000 + parts @ np.array([100, 10, 1]) - zone // _MS - int(base)) / 1000

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
