"""What loggers print before a message: a moment, a level, the logger's name. It is left out before a line is matched, so a format knows its messages only."""

from __future__ import annotations

import re
from typing import NamedTuple

_MOMENT = r"\[?(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?)\]?"
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SUCCESS)"
_NAME = r"[\w.\-/]{1,80}"

_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_MOMENT} - (?:{_NAME} - )?{_LEVEL} - (?:\[[^\]]{{0,40}}\] - )?",
        rf"{_MOMENT} \| {_LEVEL} *\| (?:[\w.:\-<>/]{{1,160}} (?:\||-) )?",
        rf"{_MOMENT}[ \t]+\[{_LEVEL}\](?:\[[^\]]{{1,40}}\])*:?[ \t]*",
        rf"{_MOMENT}[ \t]+(?:\[?{_LEVEL}\]?):?[ \t]+(?:\[?{_NAME}\]?:? )??(?:- )?",
        rf"{_LEVEL}:{_NAME}:(?: ?)",
        rf"\[{_MOMENT}\][ \t]*(?:\[{_LEVEL}\])?[ \t]*",
        # llama.cpp with --log-timestamps: minutes.seconds.milliseconds.microseconds
        r"\d{1,6}\.\d\d\.\d{3}\.\d{3} (?P<level>[DIWE]) ",
        rf"{_MOMENT}  ?[\w.\-]{{1,80}}\[\d{{1,9}}:[0-9a-fx]{{1,12}}\] ",
    )
)

WARNS = frozenset({"WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "W", "E"})
"""Levels of what a user should know."""


class Prefix(NamedTuple):
    """What stands before a message.

    Attributes:
        end: Where the message begins.
        time: The moment as it was found; "" when none is there.
        level: The level.
    """

    end: int
    time: str
    level: str


def prefix_of(text: str) -> Prefix | None:
    """Return what a logger printed before the message of a line; None when no logger did."""
    if not text[:1] or text[0] not in "[0123456789TDINWECFS":
        return None
    for form in _FORMS:
        if (found := form.match(text)) is not None and (found.groupdict().get("level") or found.end() < len(text)):
            parts = found.groupdict()
            return Prefix(found.end(), parts.get("time") or "", parts.get("level") or "")
    return None
