"""Where an input's bytes come from: a file or standard input (`-`), packed with gzip or xz or not, in UTF-8 or UTF-16.

Invariants: at most a block is held, and of standard input its first `HEAD` bytes; what unpacks to far more than its packed size is refused (kvlab/packed.py).
"""

from __future__ import annotations

import codecs
import io
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

    def head(self) -> bytes:
        """Return the beginning of the text, at most `HEAD` bytes, as UTF-8.

        Raises:
            UnreadableInput: it cannot be read, or holds no text.
        """
        with self._readable():
            # of standard input no more is there yet, and a packed text may be little longer than its packed bytes
            data = next(self._blocks(HEAD // 2, peeking=True), b"")
        if b"\0" in data[:4096]:
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
            first = file.read(3)
            encoding = _MARKS.get(first[:2])
            if encoding is None:
                begin = b"" if first == codecs.BOM_UTF8 else first
                while data := begin + file.read(size):
                    yield data
                    begin = b""
                return
            decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            data = first[2:] + file.read(size)
            while data:
                yield decoder.decode(data).encode("utf-8", "replace")
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
