"""JSON that somebody else wrote, bounded in size and depth: its lines in a text, which are held until its brackets are closed, and its values.

Figures may be NaN or infinite: who reads them checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kvlab.errors import UnreadableInput

MOST_BYTES = 1 << 24
"""Bytes of a JSON text that are read."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BEGIN = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[{\]]|$))')


def values(text: bytes, name: str) -> list[Any]:
    """Return the values that stand one after another in a JSON text.

    Raises:
        UnreadableInput: it is no JSON, or too large.
    """
    if len(text) > MOST_BYTES:
        raise UnreadableInput(
            f"{name!r} is larger than {MOST_BYTES:,} bytes", "JSON is read as a whole", "split it into lines of one answer each, or into several files"
        )
    found: list[Any] = []
    decoder = json.JSONDecoder()
    rest = text.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    at = 0
    try:
        while at < len(rest):
            value, at = decoder.raw_decode(rest, at)
            found.append(value)
            while at < len(rest) and rest[at] in " \t\r\n,":
                at += 1
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(
            what=f"{name!r} cannot be read as JSON",
            why="it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200],
            hint="save the server's whole answer, for example with curl -o",
        ) from None
    return found


class JsonLines:
    """Lines of a value that is not complete.

    Attributes:
        waits: Lines are held.
    """

    __slots__ = ("_bytes", "_depth", "_lines", "waits")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = self._bytes = 0
        self.waits = False

    def begins(self, text: str, waiting: Sequence[object]) -> bool:
        """Return whether a line begins a value; one that follows rows of something else does only as an object."""
        return _BEGIN.match(text) is not None and not (waiting and text.lstrip().startswith("["))

    def add(self, text: str) -> list[str] | None:
        """Hold a line; return all lines of the value when they close it."""
        self._lines.append(text)
        bare = _STRING.sub("", text)
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        self._bytes += len(text)
        self.waits = self._depth > 0 and self._bytes < MOST_BYTES
        return None if self.waits else self.end()

    def end(self) -> list[str] | None:
        """Return the lines that are held; None when there are none."""
        lines, self._lines = self._lines, []
        self._depth = self._bytes = 0
        self.waits = False
        return lines or None
