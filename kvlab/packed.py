"""Bytes that may be packed with gzip or xz, read as what they hold, at a bounded price: a small file that unpacks to far more is refused.

Invariants: a packing is recognised by the first bytes; what is wrong with packed bytes is an UnreadableInput that names where they come from.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from kvlab.errors import UnreadableInput
from kvlab.units import binary

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKINGS = {".gz": ("gzip", b"\x1f\x8b"), ".xz": ("xz", b"\xfd7")}
"""By the end of a file's name: how it is packed, and the two bytes it then begins with."""

MOST_RATIO = 250
"""How many times its packed size an input may take: logs take 25 to 60 times, a packed file made to fill a disk 1,000 times."""

AT_WILL = 1 << 26
"""Bytes that any packed input may unpack to."""

LONGEST_LINE = 1 << 24
"""Bytes of one line of a table or of JSON lines at most: the ids of a prompt of a million blocks fit."""


class Counted(io.RawIOBase):
    """Bytes that begin with some that were read already, and how many were read.

    Attributes:
        begun: What was read already and is given out first.
        count: Bytes given out.
    """

    def __init__(self, begun: bytes, rest: BinaryIO) -> None:
        self.begun = begun
        self.count = 0
        self._rest = rest

    def readable(self) -> bool:
        """Whether bytes can be read: they can."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`, or all that are left when that is below 0; none at the end."""
        if size < 0:
            return self.readall()
        data, self.begun = self.begun[:size], self.begun[size:]
        data += self._rest.read(size - len(data)) if len(data) < size else b""
        self.count += len(data)
        return data

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer` and return how many bytes went into it."""
        return _filled(buffer, self)


class _Unpacked(io.RawIOBase):
    """What packed bytes unpack to, as long as that is in proportion."""

    def __init__(self, packed: Counted, file: gzip.GzipFile | lzma.LZMAFile, name: str, packing: str) -> None:
        self._packed, self._file, self._name, self._packing = packed, file, name, packing
        self._count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            # piece by piece, each held against the bound
            return self.readall()
        try:
            data = self._file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise UnreadableInput(
                what=f"{self._name!r} cannot be unpacked",
                why=f"it is no whole {self._packing} file: {error}",
                hint=f"`{self._packing} -dc FILE > text` writes what can still be read of it",
            ) from None
        self._count += len(data)
        if self._count > max(AT_WILL, MOST_RATIO * self._packed.count):
            raise UnreadableInput(
                what=f"{self._name!r} unpacks to more than {binary(self._count)}",
                why=f"that is over {MOST_RATIO} times its packed size, which no log and no trace is",
                hint="unpack it yourself if you trust it, and read the text",
            )
        return data

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return _filled(buffer, self)


@contextmanager
def unpacked(file: Counted, name: str) -> Generator[Counted | _Unpacked]:
    """Give what `file` holds, unpacked if its first two bytes, which were read already, say that it is packed.

    Raises:
        UnreadableInput: while reading: the packed bytes are damaged, or unpack to far more than they are.
    """
    packing = next((packing for packing, mark in PACKINGS.values() if file.begun.startswith(mark)), "")
    if not packing:
        yield file
    else:
        # what both read from has a `read`, which is all that they need
        source = cast("IO[bytes]", file)
        with gzip.GzipFile(fileobj=source, mode="rb") if packing == "gzip" else lzma.LZMAFile(source) as unpacking:
            yield _Unpacked(file, unpacking, name, packing)


def unpacked_name(path: str | Path) -> str:
    """Return a file's name without what its packing adds: `t.jsonl` of `t.jsonl.gz`."""
    name = Path(path)
    return name.stem if name.suffix.lower() in PACKINGS else name.name


@contextmanager
def lines_of(path: Path, longest: int = LONGEST_LINE) -> Generator[Iterator[str]]:
    """Give the lines of a UTF-8 text, packed or not, without a byte-order mark at its beginning.

    Raises:
        OSError: the file cannot be read.
        UnreadableInput: while reading: it cannot be unpacked, unpacks to far too much, or a line has more than `longest` bytes.
        UnicodeDecodeError: while reading: it is no UTF-8.
    """
    with path.open("rb") as raw:
        begun = raw.read(2)
        packing, mark = PACKINGS.get(path.suffix.lower(), ("", b""))
        if not begun.startswith(mark):
            raise UnreadableInput(f"{path.name!r} cannot be unpacked", f"it does not begin as a file packed with {packing} does", f"pack it with {packing}")
        with unpacked(Counted(begun, raw), path.name) as file:
            yield _lines(io.BufferedReader(file), path.name, longest)


def _lines(file: io.BufferedReader, name: str, longest: int) -> Iterator[str]:
    number = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise UnreadableInput(f"{name}, line {number} has more than {binary(longest)}", "a line is held whole while it is read", "check the file")
        yield line.decode("utf-8-sig" if number == 1 else "utf-8")


def _filled(buffer: WriteableBuffer, file: Counted | _Unpacked) -> int:
    room = memoryview(buffer).cast("B")
    data = file.read(len(room))
    room[: len(data)] = data
    return len(data)
