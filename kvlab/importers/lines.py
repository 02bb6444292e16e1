"""The lines of an input of any size, in lists, at a bounded price: never more than a block and one cut line is held.

Invariants: a line has no line end and at most `LONGEST` bytes, one of JSON `LONGEST_JSON`: what goes beyond is not kept;
the lines of all lists together are the lines of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from kvlab.importers.inputs import Input
from kvlab.importers.json_text import MOST_BYTES
from kvlab.importers.wrappings import has_only_returns, stripping

BLOCK = 1 << 20
"""Bytes that are read at once."""

LONGEST = 1 << 16
"""Bytes that are kept of one line."""

LONGEST_JSON = MOST_BYTES
"""Bytes that are kept of a line that begins as JSON: an answer is often one line."""

MOST_SEEN = 2_000_000
"""Lines of a piece by which the beginning of the next one is compared."""

MOST_LINES = 2_000
"""Lines of a head."""


def head_of(source: Input) -> bytes:
    """Return the beginning of an input, as it will be read.

    Raises:
        UnreadableInput: it cannot be read, or holds no text.
    """
    head = source.head()
    if source.can_be_read_again and len(head) > LONGEST and b"\n" not in head.rstrip():
        # its first line is longer than what is looked at
        lines = chain.from_iterable(_lines(source, BLOCK, returns=has_only_returns(head)))
        head = b"\n".join(islice(lines, MOST_LINES))
    head = head.replace(b"\r", b"\n") if has_only_returns(head) else head
    strip = stripping(head)
    return b"\n".join(strip(head.split(b"\n"))) if strip else head


def blocks_of_lines(source: Input, block: int = BLOCK) -> Iterator[list[bytes]]:
    """Yield the lines of an input, a block's lines at a time, without what stands around them.

    Raises:
        UnreadableInput: it cannot be read.
    """
    head = source.head()
    returns = has_only_returns(head)
    strip = stripping(head.replace(b"\r", b"\n") if returns else head)
    for lines in _lines(source, block, returns=returns):
        yield strip(lines) if strip else lines


def _lines(source: Input, block: int, *, returns: bool) -> Iterator[list[bytes]]:
    carry, cutting = b"", False
    for data in source.blocks(block):
        ended = data.replace(b"\r", b"\n") if returns else data.replace(b"\r\n", b"\n") if b"\r\n" in data else data
        lines = ended.split(b"\n")
        # of a line that is being cut nothing more is kept
        lines[0] = carry if cutting else carry + lines[0]
        carry = lines.pop()
        if lines:
            cutting = False
            lines[0] = lines[0].removesuffix(b"\r")
            yield lines if max(map(len, lines)) <= LONGEST else [line[: _limit(line)] for line in lines]
        if len(carry) > LONGEST and len(carry) > (limit := _limit(carry)):
            carry, cutting = carry[:limit], True
    if carry:
        yield [carry.removesuffix(b"\r")]


def _limit(line: bytes) -> int:
    return LONGEST_JSON if line[:64].lstrip()[:1] in (b"{", b"[") else LONGEST


class Seen:
    """Lines of one piece of a log, to leave out what the next piece repeats at its beginning: pieces that were copied while they were rotated overlap."""

    __slots__ = ("_before", "_begins", "_now")

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._now: set[int] = set()
        self._begins = True

    def new(self, lines: list[bytes]) -> list[bytes]:
        """Return the lines of a block that the piece before did not have."""
        told = [hash(line) for line in lines]
        if self._begins:
            first = next((place for place, one in enumerate(told) if one not in self._before), len(told))
            self._begins = first == len(told)
            lines = lines[first:]
        if len(self._now) < MOST_SEEN:
            self._now.update(told)
        return lines

    def end(self) -> None:
        """The piece ends."""
        self._before, self._now, self._begins = self._now, set(), True
