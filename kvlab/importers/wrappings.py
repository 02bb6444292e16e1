"""What is around the lines of a text and is left out before they are read: quote marks, colours, a container's JSON, prefixes of a journal or of a logger.

A container's log has a JSON object a line with the text in `log`; a logger that writes JSON has the record's parts by name. Both become the line that the
server would have written. All forms of `journalctl -o` that put a line a record are known: short, -iso, -full, -precise, -unix and -monotonic; the machine's
name is not kept. Invariant: a line stays one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from kvlab.visible_text import storable

Strip = Callable[[Sequence[str]], list[str]]

_COLOUR = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))")
_MOST_WRAPPINGS = 5

_MOSTLY = 0.8
"""The share of lines from which on a mark before them quotes the text."""

_FIRST = ("time", "level", "source", "msg")

LOOKED_AT = 50
"""Lines by which wrappings are recognised."""

_JOURNAL = re.compile(
    r"(?:[^\s\d]{2,9} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    r"|(?:[^\s\d]{2,9} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d| [A-Z+\-\d]{1,6})?"
    r"|\d{9,11}\.\d{1,6}|\[ {0,8}\d{1,10}\.\d{1,6}\])"
    r" [\w.\-]{1,255} [\w.@/\-]{1,64}(?:\[\d{1,9}\])?: ?"
    # a container's log file, and what kubectl and docker compose put before a line
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] "
    r"|\[pod/[\w.\-/]{1,200}\] |[a-z][\w.\-]{0,60}-\d{1,3} +\| ",
    re.ASCII,
)
_MARK = re.compile(r"-- (?:Logs begin|Journal begins|Boot |Reboot|No entries|cursor)")


def stripping(head: str) -> Strip | None:
    """Return what leaves out of lines what is around them, as a text's beginning shows it; None when there is nothing.

    Wrappings may be in one another, in any order: a journal of quoted lines, a quoted journal.
    """
    lines, steps = head.split("\n"), list[Strip]()
    for _ in range(_MOST_WRAPPINGS):
        step = _outermost(lines, [line for line in lines[:LOOKED_AT] if line.strip()])
        if step is None:
            break
        steps.append(step)
        lines = step(lines)
    return partial(_all, steps) if steps else None


def _outermost(lines: Sequence[str], shown: Sequence[str]) -> Strip | None:
    if any("\x1b" in line for line in lines):
        return _without_colours
    if 2 * sum(_from_json(line) is not None for line in shown) > len(shown):
        return _out_of_json
    for mark, least in ((">", 1), ("#", 2)):
        if len(shown) >= least and sum(line.lstrip().startswith(mark) for line in shown) > _MOSTLY * len(shown):
            return partial(_without_quotes, mark)
    records = [line for line in shown if not is_mark(line)]
    return _without_journal if 2 * sum(_JOURNAL.match(line) is not None for line in records) > len(records) else None


def has_only_returns(head: bytes) -> bool:
    """Return whether a text's lines end in carriage returns and nothing else."""
    return b"\r" in head and b"\n" not in head


def is_mark(line: str) -> bool:
    """Return whether a line is one that the journal puts between records."""
    return _MARK.match(line) is not None


def _all(steps: Sequence[Strip], lines: Sequence[str]) -> list[str]:
    for step in steps:
        lines = step(lines)
    return list(lines)


def _without_quotes(mark: str, lines: Sequence[str]) -> list[str]:
    return [line.lstrip()[1:].removeprefix(" ") if line.lstrip().startswith(mark) else line for line in lines]


def _without_colours(lines: Sequence[str]) -> list[str]:
    return [_COLOUR.sub("", line).replace("\x1b", "") if "\x1b" in line else line for line in lines]


def _without_journal(lines: Sequence[str]) -> list[str]:
    return [line[found.end() :] if (found := _JOURNAL.match(line)) else line for line in lines]


def _out_of_json(lines: Sequence[str]) -> list[str]:
    return [line if (found := _from_json(line)) is None else found for line in lines]


def _from_json(line: str) -> str | None:
    """Return the line of a log that a JSON object holds; None when it holds none."""
    if not line.startswith('{"') or not ('"log"' in line or '"msg"' in line):
        return None
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    parts = cast("dict[str, Any]", value)
    if isinstance(text := parts.get("log"), str):
        return storable(text.rstrip("\r\n").replace("\n", " "))
    if not (isinstance(parts.get("msg"), str) and "level" in parts):
        return None
    words = {name: _words(parts[name]) for name in (*_FIRST, *(name for name in parts if name not in _FIRST)) if name in parts}
    return storable(" ".join(f"{name}={words[name]}" for name in words))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        place = cast("dict[str, Any]", value)
        value = f"{str(place.get('file', '')).rpartition('/')[2]}:{place.get('line', 0)}"
    text = " ".join(str(value).split("\n"))
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return printed(text)


def printed(text: str) -> str:
    """Return a value as a record of a log prints it: in quotes unless it is one plain word."""
    plain = text != "" and all(letter.isprintable() and letter not in ' ="' for letter in text)
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


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
    """What a logger printed before the message of a line; a format knows its messages only.

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
