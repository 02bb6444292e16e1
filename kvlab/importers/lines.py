"""The lines of an input of any size, in lists, at a bounded price: never more than a block and one cut line is held.

Invariants: a line has no line end and at most `LONGEST` letters, one of JSON `LONGEST_JSON`: what goes beyond is not kept;
the lines of all lists together are the lines of the input, as text.
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
"""Letters that are kept of one line."""

LONGEST_JSON = MOST_BYTES
"""Letters that are kept of a line that begins as JSON: an answer is often one line."""

MOST_SEEN = 2_000_000
"""Lines of a piece by which the beginning of the next one is compared."""

MOST_LINES = 2_000
"""Lines of a head."""


def head_of(source: Input) -> str:
    """Return the beginning of an input, as it will be read.

    Raises:
        UnreadableInput: it cannot be read, or holds no text.
    """
    head = source.head()
    if source.can_be_read_again and len(head) > LONGEST and b"\n" not in head.rstrip():
        # its first line is longer than what is looked at
        text = "\n".join(islice(chain.from_iterable(_lines(source, BLOCK, returns=has_only_returns(head))), MOST_LINES))
    else:
        text = _text(head, returns=has_only_returns(head))
    strip = stripping(text)
    return "\n".join(strip(text.split("\n"))) if strip else text


def blocks_of_lines(source: Input, block: int = BLOCK) -> Iterator[list[str]]:
    """Yield the lines of an input, a block's lines at a time, without what is around them.

    Raises:
        UnreadableInput: it cannot be read.
    """
    head = source.head()
    returns = has_only_returns(head)
    strip = stripping(_text(head, returns=returns))
    for lines in _lines(source, block, returns=returns):
        yield strip(lines) if strip else lines


def _text(data: bytes, *, returns: bool) -> str:
    text = data.decode("utf-8", "replace")
    return text if "\r" not in text else text.replace("\r", "\n") if returns else text.replace("\r\n", "\n")


def _lines(source: Input, block: int, *, returns: bool) -> Iterator[list[str]]:
    end = b"\r" if returns else b"\n"
    carry, cutting = b"", False
    for data in source.blocks(block):
        begun, found, rest = data.rpartition(end)
        if found:
            # of a line that is being cut nothing more is kept
            whole = carry + (b"".join(begun.partition(end)[1:]) if cutting else begun)
            lines = _text(whole, returns=returns).removesuffix("\r").split("\n")
            yield lines if max(map(len, lines)) <= LONGEST else [line[: _limit(line)] for line in lines]
            carry, cutting = rest, False
        elif not cutting:
            carry += rest
        if len(carry) > LONGEST and len(carry) > (limit := _limit(carry[:64].decode("utf-8", "replace"))):
            carry, cutting = carry[:limit], True
    if carry:
        yield [_text(carry, returns=returns).removesuffix("\r")]


def _limit(line: str) -> int:
    return LONGEST_JSON if line[:64].lstrip()[:1] in ("{", "[") else LONGEST


class Seen:
    """Lines of one piece of a log, to leave out what the next piece repeats at its beginning: pieces that were copied while they were rotated overlap."""

    __slots__ = ("_before", "_begins", "_now")

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._now: set[int] = set()
        self._begins = True

    def new(self, lines: list[str]) -> list[str]:
        """Return the lines of a block that the piece before did not have."""
        hashes = [hash(line) for line in lines]
        if self._begins:
            first = next((place for place, one in enumerate(hashes) if one not in self._before), len(hashes))
            self._begins = first == len(hashes)
            lines = lines[first:]
        if len(self._now) < MOST_SEEN:
            self._now.update(hashes)
        return lines

    def end(self) -> None:
        """The piece ends."""
        self._before, self._now, self._begins = self._now, set(), True
