"""Keep-alive: how long a model stays loaded after its last request, as upstream reads it.

A number is seconds, text a duration such as `5m` or `1h30m`; negative is for ever, 0 unloads after the answer. The clock is given, so that
an idle time can pass in a test without waiting.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import anyio

from kvlab.errors import BadValue, shown

FOREVER = math.inf
"""The keep-alive of a model that is not unloaded for being idle."""

DEFAULT_S = 300.0
"""Upstream's default."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_LONGEST_S = 2**63 / 1e9
"""The longest duration that Go holds; upstream lists a model kept for ever so."""


class Clock(Protocol):
    """Seconds that pass, and waiting for them."""

    def now(self) -> float:
        """Return seconds since some moment."""
        ...

    async def sleep_until(self, moment: float) -> None:
        """Return when `now` has reached `moment`."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()

    async def sleep_until(self, moment: float) -> None:
        """Wait."""
        await anyio.sleep(max(0.0, moment - self.now()))


def parse_keep_alive(given: object, default: float = DEFAULT_S) -> float:
    """Return the seconds of a request's `keep_alive`; `FOREVER` of a negative one, `default` of None.

    Raises:
        BadValue: it is no number and no duration.
    """
    if given is None:
        return default
    if isinstance(given, int | float) and not isinstance(given, bool):
        return _seconds(float(given), given)
    if isinstance(given, str):
        return _seconds(_duration(given), given)
    raise _bad(given)


def parse_setting(text: str) -> float:
    """Return the seconds of OLLAMA_KEEP_ALIVE or `--keep-alive`: as in a request, and a bare number in text is seconds too.

    Raises:
        BadValue: it is no number and no duration.
    """
    try:
        return _seconds(float(text), text)
    except ValueError:
        return parse_keep_alive(text.strip())


def _seconds(value: float, given: object) -> float:
    if math.isnan(value):
        raise _bad(given)
    return FOREVER if value < 0 or value >= _LONGEST_S else value


def _duration(text: str) -> float:
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if body == "0":
        return 0.0
    parts = list(_PART.finditer(body))
    if not body or "".join(part[0] for part in parts) != body:
        raise _bad(text)
    return sign * sum(float(part[1]) * _UNITS[part[2]] for part in parts)


def _bad(given: object) -> BadValue:
    return BadValue(
        what=f"keep_alive is {shown(given)}",
        why="it is a number of seconds, or a duration such as 30s, 10m or 1h30m; negative is for ever, 0 unloads at once",
        hint="write for example 10m",
    )


@dataclass(frozen=True, slots=True)
class Remaining:
    """How long a model stays loaded: seconds from now, `FOREVER` when no idle time ends it."""

    seconds: float

    def expires_at(self, now: datetime | None = None) -> str:
        """Return the moment as `/api/ps` has it."""
        moment = now or datetime.now(UTC)
        # upstream adds Go's longest duration, which ends after year 2300
        return (moment + timedelta(seconds=min(self.seconds, _LONGEST_S))).isoformat()
