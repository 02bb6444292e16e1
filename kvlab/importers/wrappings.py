"""What stands around the lines of a text and is left out before they are read: quote marks, colours, a container's JSON, the prefixes of a journal.

A container's log has a JSON object a line with the text in `log`; a logger that writes JSON has the record's parts by name. Both become the line that the
server would have written. Invariant: a line stays one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from kvlab.importers.journal import LOOKED_AT, without_prefixes

Strip = Callable[[Sequence[bytes]], list[bytes]]

_COLOUR = re.compile(rb"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))")
_MOST_WRAPPINGS = 5

_MOSTLY = 0.8
"""The share of lines from which on a mark before them quotes the text."""

_FIRST = ("time", "level", "source", "msg")


def stripping(head: bytes) -> Strip | None:
    """Return what leaves out of lines what stands around them, as a text's beginning shows it; None when there is nothing.

    Wrappings may stand in one another, in any order: a journal of quoted lines, a quoted journal.
    """
    lines, steps = head.split(b"\n"), list[Strip]()
    for _ in range(_MOST_WRAPPINGS):
        shown = [line for line in lines[:LOOKED_AT] if line.strip()]
        step = _outermost(lines, shown)
        if step is None:
            break
        steps.append(step)
        lines = step(lines)
    return _all(steps) if steps else None


def _outermost(lines: Sequence[bytes], shown: Sequence[bytes]) -> Strip | None:
    if any(b"\x1b" in line for line in lines):
        return _without_colours
    if 2 * sum(_from_json(line) is not None for line in shown) > len(shown):
        return _out_of_json
    for mark, least in ((b">", 1), (b"#", 2)):
        if len(shown) >= least and sum(line.lstrip().startswith(mark) for line in shown) > _MOSTLY * len(shown):
            return partial(_without_quotes, mark=mark)
    return without_prefixes(b"\n".join(lines))


def has_only_returns(head: bytes) -> bool:
    """Return whether a text's lines end in carriage returns and nothing else."""
    return b"\r" in head and b"\n" not in head


def _all(steps: Sequence[Strip]) -> Strip:
    def strip(lines: Sequence[bytes]) -> list[bytes]:
        for step in steps:
            lines = step(lines)
        return list(lines)

    return strip


def _without_quotes(lines: Sequence[bytes], mark: bytes) -> list[bytes]:
    return [line.lstrip()[1:].removeprefix(b" ") if line.lstrip().startswith(mark) else line for line in lines]


def _without_colours(lines: Sequence[bytes]) -> list[bytes]:
    return [_COLOUR.sub(b"", line).replace(b"\x1b", b"") if b"\x1b" in line else line for line in lines]


def _out_of_json(lines: Sequence[bytes]) -> list[bytes]:
    return [line if (found := _from_json(line)) is None else found for line in lines]


def _from_json(line: bytes) -> bytes | None:
    """Return the line of a log that a JSON object holds; None when it holds none."""
    if not line.startswith(b'{"') or not (b'"log"' in line or b'"msg"' in line):
        return None
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    told = cast("dict[str, Any]", value)
    if isinstance(text := told.get("log"), str):
        return text.rstrip("\r\n").replace("\n", " ").encode("utf-8", "replace")
    if not (isinstance(told.get("msg"), str) and "level" in told):
        return None
    words = {name: _words(told[name]) for name in (*_FIRST, *(name for name in told if name not in _FIRST)) if name in told}
    return " ".join(f"{name}={words[name]}" for name in words).encode("utf-8", "replace")


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
