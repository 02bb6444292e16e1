"""What stands in the records of an Ollama log: attributes, sizes, names, moments. All patterns work on bytes.

Invariants: a count has at most 18 figures, so it fits what a recording holds; a text is cut at `MOST_LETTERS` and names no home folder.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kvlab.importers.figures import read_duration, read_figure

MOST_LETTERS = 300

HIT = re.compile(rb"total=(\d{1,18})\b\s+matched=(\d{1,18})\b\s+cached=(\d{1,18})\b\s+left=(\d{1,18})\b")
PROGRESS = re.compile(rb"processed=(\d{1,18})\b\s+total=(\d{1,18})\b")
OFFSET = re.compile(rb"offset=(-?\d{1,18})\b")
EVICTING = re.compile(rb'offset=(\d{1,18})\b\s+tokens=(\d{1,18})\b\s+freed=(?:"([^"]{1,40})"|(-?[\d.]{1,20}\s?[KMGT]?i?B))')
SIZE = re.compile(rb'size=(?:"([^"]{1,40})"|([\d.]{1,20}\s?[KMGT]?i?B))')
ACTIVE = re.compile(rb'\bactive="([^"]{1,40})"')
MEMORY = re.compile(rb'memory\.active="([^"]{1,40})"\s+memory\.cache="([^"]{1,40})"\s+memory\.peak="([^"]{1,40})"')
PAGE = re.compile(rb"\[(\d{1,18}), (\d{1,18})\)")
TOTALS = re.compile(rb"active_tokens: (\d{1,18}), active_size: ([^,]{1,40}), paged_out: ([^,]{1,40}), trie: nodes=(\d{1,18}), snapshots=(\d{1,18})")
TENSORS = re.compile(rb"active: ([\d.]{1,20} [KMGT]?i?B)")
NODE = re.compile(rb"\[(\d{1,18}),(\d{1,18})\) (\d{1,18})t(?: ([\d.]{1,20} [KMGT]?i?B))?(?: \(([a-z, ]{1,40})\))?\"$")
MODEL = re.compile(rb'\bmodel="?([^\s"]{1,200})')
PORT = re.compile(rb"\bport=(\d{1,6})\b")
PID = re.compile(rb"\bpid=(\d{1,9})\b")
RUNNER_NAME = re.compile(rb'runner\.name="?([^\s"]{1,200})')
RUNNER_SIZE = re.compile(rb'runner\.size="([^"]{1,40})"')
RUNNER_PID = re.compile(rb"runner\.pid=(\d{1,9})\b")
SYSTEM = re.compile(rb'\btotal="([^"]{1,40})"\s+free="([^"]{1,40})"\s+free_swap="([^"]{1,40})"')
NAMED = re.compile(rb'msg=(?:"((?:[^"\\]|\\.){1,400})|(\S{1,400}))')
ERROR = re.compile(rb'\berror="((?:[^"\\]|\\.){1,2000})')
HELD = re.compile(rb'peak="([^"]{1,40})"(?:\s+held="([^"]{1,40})")?')
SETTING = re.compile(rb"\b(OLLAMA_[A-Z_]{1,60}):([^\s\]]{1,120})")
VERSION = re.compile(rb"\(version (\d{1,4}\.\d{1,4}\.\d{1,4})")
GIN = re.compile(rb'\[GIN\] [^|]{1,40}\|\s*(\d{3})\s*\|\s*(\S{1,40})\s*\|[^|]{1,80}\|\s*([A-Z]{3,8})\s+"([^"]{0,300})"')

_PLAIN = re.compile(rb"\d{1,20}\.\d{1,20}s")
_HOME = re.compile(r"(?:/Users/|/home/|[A-Z]:\\Users\\)[^/\\\s\"':]+")


@lru_cache(maxsize=4096)
def size(text: bytes) -> int | None:
    """Return the bytes that `16.96 GiB` names; None when it names none."""
    figure = read_figure(text.decode("utf-8", "replace"))
    return figure.observed if figure is not None else None


def words(text: bytes) -> str:
    """Return a text to show: cut, with home folders as `~` and Go's quoting undone."""
    shown = text[: 4 * MOST_LETTERS].decode("utf-8", "replace").replace('\\"', '"').replace("\\n", " ").replace("\\t", " ")
    if not shown.isprintable():
        shown = "".join(letter if letter.isprintable() else " " for letter in shown)
    shown = _HOME.sub("~", shown)
    return shown if len(shown) <= MOST_LETTERS else shown[:MOST_LETTERS] + "…"


@lru_cache(maxsize=4096)
def path(text: bytes) -> str:
    """Return the path of a call, without its query."""
    return words(text).partition("?")[0]


def model_name(text: bytes) -> str:
    """Return a model's name without the registry it came from."""
    return words(text).rpartition("/")[2]


def seconds(text: bytes) -> float | None:
    """Return the seconds of a Go duration; None when it is none."""
    if _PLAIN.fullmatch(text):
        return float(text[:-1])
    return read_duration(text.decode("utf-8", "replace"))
