"""Streams of token ids for cases and the twin: named streams that can be repeated, and fresh tokens that match nothing.

Invariants: ids are positive int32; the ranges below do not overlap, so a token of one kind never equals one of another.
The same calls in the same order give the same ids.

    1 .. 2^20-1        words of a text (text_tokens.py) and the explicit ids of small cases
    2^20 .. 2^30-1     named streams, `STREAM_TOKENS` ids each
    2^30 ..            fresh tokens of a workload
    2^30 + 2^29 ..     fresh tokens of conversations (replies rendered differently)
    2^30 + 2^29 + 2^28 .. 2^31-1   replies that the twin makes up
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from kvlab.errors import BadValue

FIRST_STREAM = 2**20
STREAM_TOKENS = 2**22
FIRST_FRESH = 2**30
FIRST_RERENDERED = FIRST_FRESH + 2**29
FIRST_REPLY = FIRST_RERENDERED + 2**28
END = 2**31

# Knuth's multiplicative hash: neighbours land far apart, so a prompt is no run of neighbouring tokens
_SPREAD = 2654435761


class Fresh:
    """Tokens that were never given before: ids `first`, `first` + 1, … up to `end` (excluded)."""

    __slots__ = ("_end", "_next")

    def __init__(self, first: int = FIRST_FRESH, end: int | None = None) -> None:
        self._next = first
        self._end = end if end is not None else min((edge for edge in (FIRST_RERENDERED, FIRST_REPLY, END) if edge > first), default=END)

    def take(self, count: int) -> tuple[int, ...]:
        """Return the next `count` fresh ids.

        Raises:
            BadValue: the range of ids is used up (about a quarter of a thousand million tokens at least).
        """
        start, self._next = self._next, self._next + count
        if self._next > self._end:
            raise BadValue(
                what=f"{count} fresh tokens were requested after {start} ids were used",
                why="token ids are int32, and each kind of token has its own range of ids",
                hint="use a shorter workload",
            )
        return tuple(range(start, self._next))

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from self.take(1)


class NamedStreams:
    """Endless streams of tokens by name. Token n of a name is always the same id; two names share none."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def first(self, name: str, count: int) -> tuple[int, ...]:
        """Return the first `count` ids of stream `name`.

        Raises:
            BadValue: a stream longer than `STREAM_TOKENS`, or more streams than ids.
        """
        place = self._places.setdefault(name, len(self._places))
        start = FIRST_STREAM + place * STREAM_TOKENS
        if count > STREAM_TOKENS or start + STREAM_TOKENS > FIRST_FRESH:
            raise BadValue(
                what=f"{count} tokens of stream {name!r}, number {place + 1}",
                why=f"a workload may name {(FIRST_FRESH - FIRST_STREAM) // STREAM_TOKENS} streams of at most {STREAM_TOKENS} tokens",
                hint="use fewer streams or shorter prefixes",
            )
        return tuple(range(start, start + count))


def in_vocabulary(tokens: Sequence[int], vocabulary: int, avoid: AbstractSet[int] = frozenset()) -> list[int]:
    """Return `tokens` with each id from `FIRST_STREAM` on replaced by one below `vocabulary` that is not in `avoid`; smaller ids stay.

    The same id always becomes the same token. Two ids may become one token: in a small vocabulary prompts that share nothing may begin
    alike, as texts do.
    """
    import numpy as np

    ids = np.asarray(tokens, dtype=np.int64)
    allowed = np.array([one for one in range(vocabulary) if one not in avoid], dtype=np.int64)
    spread = allowed[((ids * _SPREAD) & 0xFFFFFFFF) * len(allowed) >> 32]
    return np.where(ids < FIRST_STREAM, ids, spread).tolist()
