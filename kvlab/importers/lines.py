"""The lines of a file of any size, in lists, at a bounded price: never more than a block and one cut line is held.

Invariants: a line has no line end and at most `LONGEST` bytes, what goes beyond is not kept; the lines of all lists together are the lines of the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kvlab.errors import UnreadableInput

BLOCK = 1 << 20
"""Bytes that are read at once."""

LONGEST = 1 << 16
"""Bytes that are kept of one line."""

HEAD = 1 << 18
"""Bytes by which a file's kind is recognised."""

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def head(path: Path) -> bytes:
    """Return the first `HEAD` bytes of a text, as UTF-8 whatever the file's encoding.

    Raises:
        UnreadableInput: there is no such file, or it holds no text.
    """
    try:
        with path.open("rb") as file:
            data = next(_blocks(file, HEAD), b"")
    except OSError as error:
        raise unreadable(path, error) from None
    if b"\0" in data[:4096]:
        raise UnreadableInput(
            what=f"{path.name!r} is not a text",
            why="it holds zero bytes, as programs, pictures and archives do",
            hint="give a log, a table or a tool's output as text; a recording is a folder NAME.kvrec or its .zip",
        )
    return data


def blocks_of_lines(path: Path, block: int = BLOCK) -> Iterator[list[bytes]]:
    """Yield the lines of a file, a block's lines at a time.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            carry, cutting = b"", False
            for data in _blocks(file, block):
                lines = (data.replace(b"\r\n", b"\n") if b"\r\n" in data else data).split(b"\n")
                # of a line that is being cut nothing more is kept
                lines[0] = carry if cutting else carry + lines[0]
                carry = lines.pop()
                if lines:
                    cutting = False
                    lines[0] = lines[0].removesuffix(b"\r")
                    yield lines if max(map(len, lines)) <= LONGEST else [line[:LONGEST] for line in lines]
                if len(carry) > LONGEST:
                    carry, cutting = carry[:LONGEST], True
            if carry:
                yield [carry.removesuffix(b"\r")]
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> UnreadableInput:
    """Return the error that a file cannot be read."""
    return UnreadableInput(
        what=f"{path.name!r} cannot be read" if path.exists() else f"there is no file {path.name!r}",
        why=(error.strerror or str(error)).lower(),
        hint="check the name and that you may read it",
    )


def _blocks(file: BinaryIO, block: int) -> Iterator[bytes]:
    first = file.read(3)
    encoding = _MARKS.get(first[:2])
    if encoding is None:
        yield from _plain(file, b"" if first == codecs.BOM_UTF8 else first, block)
        return
    file.seek(2)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    while data := file.read(block):
        yield decoder.decode(data).encode("utf-8", "replace")


def _plain(file: BinaryIO, begin: bytes, block: int) -> Iterator[bytes]:
    if begin:
        yield begin + file.read(block)
    while data := file.read(block):
        yield data
