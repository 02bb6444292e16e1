"""Where an input's bytes come from: a file or standard input (`-`), packed with gzip or xz or not, in UTF-8 or UTF-16.

Invariants: at most a block is held, and of standard input its first `HEAD` bytes; what unpacks to far more than its packed size is refused (kvlab/packed.py).
"""

from __future__ import annotations

import codecs
import io
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from kvlab.errors import UnreadableInput
from kvlab.packed import Counted, unpacked

HEAD = 1 << 18
"""Bytes by which an input's kind is recognised."""

STANDARD = "-"
"""How standard input is called where a file may be named."""

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


_SAMPLE = 4096
"""Bytes that decide whether an input is a text, and in which encoding."""

_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_STRANGE = 0.1
"""The share of bytes that no text has, from which on something is none."""

_WIDE = re.compile(rb"(?:\xff\xfe)?(?:[\t\n\r\x20-\x7e]\0){2,}")
"""A piece of UTF-16 in a text of another encoding, as a shell appends it."""


def _encoding(first: bytes) -> str | None:
    """Return the encoding of a text that begins so, when it is UTF-16: by its mark, or by where its zero bytes are."""
    if (marked := _MARKS.get(first[:2])) is not None:
        return marked
    even, odd = first[0::2].count(0), first[1::2].count(0)
    half = len(first) // 2 if 0 in first[:128] else 0
    # also of a text in Chinese, line ends, figures and blanks have a zero byte, all on one side
    if half > 1 and b"\n\0" in first and odd > half // 8 and even * 50 < odd:
        return "utf-16-le"
    return "utf-16-be" if half > 1 and b"\0\n" in first and even > half // 8 and odd * 50 < even else None


_NARROW = re.compile(rb"[\t\n\r\x20-\x7e]{64,}")
"""Where a text that began in UTF-16 goes on in UTF-8, as a second program appends to a log: so many letters in UTF-16 would all be of two plain bytes."""
_HELD = 128
"""Bytes of a block in UTF-16 that are decoded with the next one, in which such a piece may go on."""


def _plain(data: bytes) -> bytes:
    """Return bytes without zeros: those of a piece of UTF-16, and stray ones."""
    return _WIDE.sub(lambda found: found[0].removeprefix(b"\xff\xfe").replace(b"\0", b""), data).replace(b"\0", b"") if b"\0" in data else data


class Reads(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        ...


class Input:
    """An input. A file can be read again and again, standard input and a pipe once.

    Attributes:
        name: What messages call it.
        is_small: All of it is within its head; it can be read twice whatever it is.
    """

    def __init__(self, path: str | Path) -> None:
        """Find it.

        Raises:
            UnreadableInput: there is no such file, or nothing is piped into standard input.
        """
        self._path = None if str(path) == STANDARD else Path(path).expanduser()
        self.name = "standard input" if self._path is None else self._path.name
        self._begun = b""
        self._pipe: BinaryIO | None = None
        self.is_small = False
        with self._readable():
            if self._path is not None and self._path.exists() and not self._path.is_file() and not self._path.is_dir():
                # what a shell puts in the place of a file, `<(...)`, can be read once
                self._pipe = self._path.open("rb")
                self._begin()
            elif self._path is not None:
                self.is_small = self._path.stat().st_size <= HEAD
            elif sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]  (a program without a console has none)
                raise UnreadableInput(
                    "nothing is piped into standard input", "`-` reads what another program writes", "journalctl -u ollama | kvlab diagnose -"
                )
            else:
                self._pipe = sys.stdin.buffer
                self._begin()

    def _begin(self) -> None:
        if self._pipe is not None:
            self._begun = self._pipe.read(HEAD)
            self.is_small = len(self._begun) < HEAD
            if self.is_small and self._path is not None:
                self._pipe.close()

    @property
    def can_be_read_again(self) -> bool:
        """Whether it is a file, not a pipe."""
        return self._pipe is None and self._path is not None

    def head(self) -> bytes:
        """Return the beginning of the text, at most `HEAD` bytes, as UTF-8.

        Raises:
            UnreadableInput: it cannot be read, or holds no text.
        """
        with self._readable():
            # of standard input no more is there yet, and a packed text may be little longer than its packed bytes
            data = next(self._blocks(HEAD // 2, peeking=True), b"")
        if len(_NO_TEXT.findall(data[:_SAMPLE])) > _MOST_STRANGE * len(data[:_SAMPLE]):
            raise UnreadableInput(
                what=f"{self.name!r} is not a text",
                why="it holds zero bytes, as programs, pictures and archives do",
                hint="give a log, a table or a tool's output as text or packed with gzip or xz; a recording is a folder NAME.kvrec or its .zip",
            )
        return data

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the text as UTF-8, about `size` bytes at a time.

        Raises:
            UnreadableInput: it cannot be read or unpacked, or unpacks to too much.
        """
        with self._readable():
            yield from self._blocks(size)

    def _blocks(self, size: int, *, peeking: bool = False) -> Iterator[bytes]:
        with self._open(peeking=peeking) as file:
            first = file.read(_SAMPLE)
            encoding = _encoding(first)
            decoder = codecs.getincrementaldecoder(encoding or "utf-8")(errors="replace")
            data = (first[2:] if first[:2] in _MARKS else first.removeprefix(codecs.BOM_UTF8)) + file.read(size)
            while data and encoding:
                narrow, more = _NARROW.search(data), file.read(size)
                cut = narrow.start() + narrow.start() % 2 if narrow is not None else max(0, len(data) - _HELD) // 2 * 2 if more else len(data)
                yield decoder.decode(data[:cut]).encode("utf-8", "replace")
                data, encoding = data[cut:] + more, None if narrow is not None else encoding
            while data:
                yield _plain(data)
                data = file.read(size)

    @contextmanager
    def _open(self, *, peeking: bool) -> Generator[Reads]:
        if self._pipe is not None:
            rest = io.BytesIO() if peeking or self.is_small else self._pipe
            with unpacked(Counted(self._begun, rest), self.name) as file:
                yield file
            if self._path is not None and not peeking:
                self._pipe.close()
            return
        if self._path is None:
            return
        with self._path.open("rb") as raw, unpacked(Counted(raw.read(2), raw), self.name) as file:
            yield file

    @contextmanager
    def _readable(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            is_there = self._path is None or self._path.exists()
            raise UnreadableInput(
                what=f"{self.name!r} cannot be read" if is_there else f"there is no file {self.name!r}",
                why=(error.strerror or str(error)).lower(),
                hint="check the name and that you may read it",
            ) from None
