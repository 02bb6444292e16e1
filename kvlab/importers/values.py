"""What stands in the records of a server's log: sizes, names, texts to show.

Invariant: a text is cut at `MOST_LETTERS` and names no home folder.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kvlab.importers.figures import read_duration, read_figure

MOST_LETTERS = 300

_PLAIN = re.compile(r"[0-9]{1,20}\.[0-9]{1,20}s")
_HOME = re.compile(r"(?:/Users/|/home/|[A-Z]:\\Users\\)[^/\\\s\"':]+")


@lru_cache(maxsize=4096)
def size(text: str) -> int | None:
    """Return the bytes that `16.96 GiB` names; None when it names none."""
    figure = read_figure(text)
    return figure.observed if figure is not None else None


def words(text: str) -> str:
    """Return a text to show: cut, with home folders as `~` and Go's quoting undone."""
    shown = text[: 4 * MOST_LETTERS].replace('\\"', '"').replace("\\n", " ").replace("\\t", " ")
    if not shown.isprintable():
        shown = "".join(letter if letter.isprintable() else " " for letter in shown)
    shown = _HOME.sub("~", shown)
    return shown if len(shown) <= MOST_LETTERS else shown[:MOST_LETTERS] + "…"


@lru_cache(maxsize=4096)
def path(text: str) -> str:
    """Return the path of a call, without its query."""
    return words(text).partition("?")[0]


def model_name(text: str) -> str:
    """Return a model's name without the registry it came from."""
    return words(text).rpartition("/")[2]


@lru_cache(maxsize=4096)
def seconds(text: str) -> float | None:
    """Return the seconds of a Go duration; None when it is none."""
    return float(text[:-1]) if _PLAIN.fullmatch(text) else read_duration(text)
