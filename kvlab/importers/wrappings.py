"""What stands around the lines of a log and is left out before they are read: colours, a container's JSON, the prefixes of a journal.

A container's log has a JSON object a line with the text in `log`; a logger that writes JSON has the record's parts by name. Both become the line that the
server would have written. Invariant: a line stays one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from kvlab.importers.journal import LOOKED_AT, without_prefixes
from kvlab.importers.ollama_names import printed

Strip = Callable[[Sequence[bytes]], list[bytes]]

_COLOUR = re.compile(rb"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))")
_FIRST = ("time", "level", "source", "msg")


def stripping(head: bytes) -> Strip | None:
    """Return what leaves out of lines what stands around them, as a text's beginning shows it; None when there is nothing."""
    lines, steps = head.split(b"\n"), list[Strip]()
    if b"\x1b" in head:
        steps.append(_without_colours)
        lines = _without_colours(lines)
    shown = [line for line in lines[:LOOKED_AT] if line.strip()]
    if 2 * sum(_from_json(line) is not None for line in shown) > len(shown):
        steps.append(_out_of_json)
        lines = _out_of_json(lines)
    if (journal := without_prefixes(b"\n".join(lines))) is not None:
        steps.append(journal)
    return _all(steps) if steps else None


def has_only_returns(head: bytes) -> bool:
    """Return whether a text's lines end in carriage returns and nothing else."""
    return b"\r" in head and b"\n" not in head


def _all(steps: Sequence[Strip]) -> Strip:
    def strip(lines: Sequence[bytes]) -> list[bytes]:
        for step in steps:
            lines = step(lines)
        return list(lines)

    return strip


def _without_colours(lines: Sequence[bytes]) -> list[bytes]:
    return [_COLOUR.sub(b"", line) if b"\x1b" in line else line for line in lines]


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
