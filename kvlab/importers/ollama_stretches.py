"""Stretches of an Ollama log in which nothing stands but the records that every request has at level INFO.

A stretch is whole requests, `cache hit` or `cache miss` to `peak memory`, with `[GIN]` and `ServeHTTP` lines anywhere among them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 12
"""Lines of a stretch that is worth it."""

HIT, PROGRESS, PEAK, CALL, SERVED = b"HPKSG"
"""Letters of the records that a stretch is made of."""

MARK = b" msg="
"""What stands before a record's message."""

_CODES = {b'"cache h': HIT, b'"cache m': HIT, b'"Prompt ': PROGRESS, b'"peak me': PEAK, b"ServeHTT": CALL}
_OTHER = ord(".")
_STRETCH = re.compile(rb"[SG]*(?:H[PSG]*K[SG]*)+")
_USUAL = (b"level=INFO", b"[GIN]")
_SAMPLED = 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines [first, last) of a block, and the letter of each."""

    first: int
    last: int
    codes: bytes


def stretches(lines: Sequence[bytes]) -> list[Stretch]:
    """Return the stretches of a block that are worth reading at once."""
    sample = lines[:: max(1, len(lines) // _SAMPLED)]
    if len(lines) < LEAST or 4 * sum(any(mark in line for mark in _USUAL) for line in sample) < 3 * len(sample):
        return []
    # a line without a mark has its key at 4: of a `[GIN]` line that is the beginning of its date, most often the same in all of a block
    served = next((line for line in lines if line.startswith(b"[GIN] ")), None)
    known = _CODES.get if served is None else (_CODES | {served[4:12]: SERVED}).get
    mark, other = MARK, _OTHER
    codes = bytes([known(line[(at := line.find(mark)) + 5 : at + 13], other) for line in lines])
    return [Stretch(*found.span(), found[0]) for found in _STRETCH.finditer(codes) if len(found[0]) >= LEAST]
