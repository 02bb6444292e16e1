"""JSON that somebody else wrote: one value, or one a line; bounded in size and depth. Figures may be NaN or infinite: who reads them checks."""

from __future__ import annotations

import json
from typing import Any

from kvlab.errors import UnreadableInput

MOST_BYTES = 1 << 24
"""Bytes of a JSON text that are read."""


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
