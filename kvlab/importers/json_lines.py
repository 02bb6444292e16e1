"""JSON in a text, in one line or over many: its lines are held until its brackets are closed."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_BYTES = 1 << 24
"""Bytes of one value."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BEGIN = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[{\]]|$))')


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
