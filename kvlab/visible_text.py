"""Text from outside as a terminal, Markdown and a repr may show it: what would move a cursor, turn the writing direction or hide is written out.

Invariant: what a JSON string holds is the same before and after, since the escapes are JSON's.
"""

from __future__ import annotations

import json
import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
"""Control characters but new line and tab, marks of direction, what has no width (what joins letters and emoji is kept), and halves of surrogate pairs."""

_HALF = re.compile("[\ud800-\udfff]")


def visible(text: str, encoding: str = "utf-8") -> str:
    r"""Return the text with hidden characters, and those that `encoding` does not have, written as `\u202e` is."""
    shown = _HIDDEN.sub(_escaped, text)
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        return "".join(letter if _fits(letter, encoding) else json.dumps(letter)[1:-1] for letter in shown)
    return shown


def storable(text: str) -> str:
    """Return the text with each half of a surrogate pair, which no encoding has, as U+FFFD."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def _fits(letter: str, encoding: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
