"""Lines as systemd's journal or a container's runtime prints them: what they put before a line is left out before it is read.

All forms of `journalctl -o` that put a line a record are known: short, -iso, -full, -precise, -unix and -monotonic. The machine's name is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_MOMENT = (
    rb"(?:[^\s\d]{2,9} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    rb"|(?:[^\s\d]{2,9} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d| [A-Z+\-\d]{1,6})?"
    rb"|\d{9,11}\.\d{1,6}|\[ {0,8}\d{1,10}\.\d{1,6}\])"
)
_PREFIX = re.compile(
    _MOMENT
    + rb" [\w.\-]{1,255} [\w.@/\-]{1,64}(?:\[\d{1,9}\])?: ?"
    # a container's log file, and what kubectl and docker compose put before a line
    + rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] "
    + rb"|\[pod/[\w.\-/]{1,200}\] |[a-z][\w.\-]{0,60}-\d{1,3} +\| "
)
_MARK = re.compile(rb"-- (?:Logs begin|Journal begins|Boot |Reboot|No entries|cursor)")

LOOKED_AT = 50
"""Lines by which it is told."""


def is_mark(line: bytes) -> bool:
    """Return whether a line is one that the journal puts between records."""
    return _MARK.match(line) is not None


def without_prefixes(head: bytes) -> Callable[[Sequence[bytes]], list[bytes]] | None:
    """Return what leaves the prefixes out of lines, if most of a text's first lines have one; None when not."""
    lines = [line for line in head.split(b"\n")[:LOOKED_AT] if line.strip() and not is_mark(line)]
    found = sum(_PREFIX.match(line) is not None for line in lines)
    return _stripped if 2 * found > len(lines) else None


def _stripped(lines: Sequence[bytes]) -> list[bytes]:
    return [line[found.end() :] if (found := _PREFIX.match(line)) else line for line in lines]
