"""The records of stretches of an Ollama log as columns: one pattern for each message, over all its lines at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kvlab.importers import ollama_values as values
from kvlab.importers.ollama_stretches import CALL, HIT, MARK, PEAK, PROGRESS, SERVED

_PATTERNS = {
    HIT: re.compile(rb' msg="cache (hit|miss)" total=(\d{1,18}) matched=(\d{1,18}) cached=(\d{1,18}) left=(\d{1,18})$', re.MULTILINE),
    PROGRESS: re.compile(rb' msg="Prompt processing progress" processed=(\d{1,18}) total=(\d{1,18})$', re.MULTILINE),
    PEAK: re.compile(rb' msg="(peak memory)" size="([^"\n]{1,40})"$', re.MULTILINE),
    SERVED: re.compile(
        rb"\[GIN\] [^|\n]{1,40}\|[ \t]*(\d{3})[ \t]*\|[ \t]*(?:(\d{1,20}\.\d{1,20})s|([^\s|]{1,40}))[ \t]*"
        rb'\|[^|\n]{1,80}\|[ \t]*([A-Z]{3,8})[ \t]+"([^"\n]{0,300})"'
    ),
}
"""Each finds at most one record in a line, and has several groups. Of a `CALL` only that it is one is told.

They are stricter than those of `ollama_values`, which find figures in wrapped pastes too: no space that could be a line end, and nothing after the figures.
What is a record there and not here is read line by line.
"""

_CALL = b" msg=ServeHTTP"

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Groups = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """What the lines tell.

    Attributes:
        where: The lines of each letter.
        odd: Lines of another form, or whose figures contradict each other; what the columns hold of them means nothing.
        hits: A row a request: total, matched, cached, left.
        missed: Which of them are a `cache miss`.
        done: A progress record's tokens.
        before: Those of the request's progress record before it; 0 for its first.
        whose: The request of each progress record.
        peaks: Bytes, a request each.
        labels: `METHOD /path` of each call from outside.
        status: Its status.
        seconds: What it took.
        asks: Whether it asks for something.
    """

    where: dict[int, Ints]
    odd: Flags
    hits: Ints
    missed: Flags
    done: Ints
    before: Ints
    whose: Ints
    peaks: Ints
    labels: list[str]
    status: Ints
    seconds: Floats
    asks: Flags


def read_columns(lines: Sequence[bytes], letters: NDArray[np.uint8]) -> Columns:
    """Return what lines tell, each with its letter."""
    where = {letter: np.flatnonzero(letters == letter) for letter in (*_PATTERNS, CALL)}
    found = {letter: _found(letter, [lines[place] for place in where[letter].tolist()]) for letter in _PATTERNS}
    odd = np.zeros(len(letters), np.bool_)
    for letter, records in found.items():
        if None in records:
            odd[where[letter][_flags([one is None for one in records])]] = True
    odd[where[CALL]] = _flags([line.count(MARK) != 1 or _CALL not in line for line in (lines[place] for place in where[CALL].tolist())])
    hits = _numbers([one[1:] if one else (b"0",) * 4 for one in found[HIT]], 4)
    progress = _numbers([one or (b"0", b"0") for one in found[PROGRESS]], 2)
    whose = np.searchsorted(where[HIT], where[PROGRESS]) - 1
    done = progress[:, 0]
    before = np.where(np.diff(whose, prepend=-1) > 0, 0, np.roll(done, 1))
    odd[where[HIT]] |= (hits[:, 2] + hits[:, 3] != hits[:, 0]) | (hits[:, 1:3] > hits[:, :1]).any(axis=1)
    odd[where[PROGRESS]] |= (progress[:, 1] != hits[whose, 3]) | (done < before) | (done > progress[:, 1])
    peaks = [values.size(one[1]) if one else None for one in found[PEAK]]
    served = [one or (b"0", b"0", b"", b"", b"") for one in found[SERVED]]
    took = [float(one[1]) if one[1] else values.seconds(one[2]) for one in served]
    odd[where[PEAK]] |= _flags([one is None for one in peaks])
    odd[where[SERVED]] |= _flags([one is None for one in took])
    return Columns(
        where=where,
        odd=odd,
        hits=hits,
        missed=_flags([one is not None and one[0] == b"miss" for one in found[HIT]]),
        done=done,
        before=before,
        whose=whose,
        peaks=np.array([one or 0 for one in peaks], np.int64),
        labels=[f"{one[3].decode()} {values.path(one[4])}" for one in served],
        status=np.array([int(one[0]) for one in served], np.int64),
        seconds=np.array([one or 0.0 for one in took], np.float64),
        asks=_flags([one[3] not in (b"GET", b"HEAD") for one in served]),
    )


def _found(letter: int, lines: list[bytes]) -> Sequence[Groups | None]:
    """Return what stands in the records of one letter; None for one of another form."""
    pattern, mark = _PATTERNS[letter], b"[GIN] " if letter == SERVED else MARK
    text = b"\n".join(lines)
    together: list[Groups] = pattern.findall(text)
    if len(together) == len(lines) == text.count(mark):
        return together
    apart = [pattern.search(line) if line.count(mark) == 1 else None for line in lines]
    return [one.groups() if one else None for one in apart]


def _numbers(rows: list[Groups], width: int) -> Ints:
    return np.fromiter(map(int, chain.from_iterable(rows)), np.int64, width * len(rows)).reshape(len(rows), width)


def _flags(values_: Sequence[bool]) -> Flags:
    return np.array(values_, np.bool_)
