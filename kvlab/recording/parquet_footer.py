"""What a parquet file unpacks to, found before any of it is unpacked: rows, and bytes of its columns.

Polars reads a part at once, and a small one may unpack to far more than a machine has. The end of a parquet file has both counts (Apache Parquet format,
`FileMetaData`), but it may claim anything: a reader goes by the header of each page, so those are read too. All are in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_METADATA, _PACKED, _FIRST_PAGE, _DICTIONARY = 3, 7, 9, 11
_PAGE_BYTES, _PAGE_PACKED, _PAGES, _PAGE_VALUES = 2, 3, (5, 8), 1
"""The numbers of the fields that are read: of the footer, a row group, a column in it, a page's header (those of data pages have their values)."""

_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTS = (4, 5, 6)
_DEEPEST, _LONGEST = 16, 10
"""Structs within each other, and bytes of a whole number, at most."""


class Size(NamedTuple):
    """What a parquet file unpacks to: values (rows times columns), and bytes of all columns before repeats are written out."""

    values: int
    bytes: int


def size_of(data: bytes) -> Size:
    """Return what a parquet file unpacks to, by its footer or by its pages, whichever is more.

    Raises:
        ValueError: it is no parquet file, or its footer or the header of a page is damaged.
    """
    length = int.from_bytes(data[-8:-4], "little")
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or length + 12 > len(data):
        msg = "no parquet file"
        raise ValueError(msg)
    try:
        about = _Reader(data[-8 - length : -8]).struct()
        groups = about[_GROUPS]
        rows = max(about[_ROWS], sum(max(0, group[_GROUP_ROWS]) for group in groups))
        pages = [_pages(data, column[_METADATA]) for group in groups for column in group[_COLUMNS]]
        values = max(rows * max(1, len(about[_SCHEMA]) - 1), sum(size.values for size in pages))
        return Size(values, max(sum(max(0, group[_GROUP_BYTES]) for group in groups), sum(size.bytes for size in pages)))
    except (LookupError, TypeError) as error:
        msg = "a damaged footer"
        raise ValueError(msg) from error


def _pages(data: bytes, column: dict[int, Any]) -> Size:
    """Return what the pages of a column of a row group unpack to."""
    first, dictionary = column[_FIRST_PAGE], column.get(_DICTIONARY, 0)
    at = dictionary if 0 < dictionary < first else first
    end, values, size = at + column[_PACKED], 0, 0
    while 0 < at < end <= len(data):
        reader = _Reader(data, at)
        header = reader.struct()
        if header[_PAGE_BYTES] < 0 or header[_PAGE_PACKED] < 0:
            break
        at = reader.at + header[_PAGE_PACKED]
        size += header[_PAGE_BYTES]
        values += sum(header[kind][_PAGE_VALUES] for kind in _PAGES if kind in header)
    if at != end:
        msg = "pages that do not fill their column"
        raise LookupError(msg)
    return Size(values, size)


class _Reader:
    """Values in Thrift's compact protocol, one after the other; structs by the numbers of their fields.

    Attributes:
        at: The place of the next byte.
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._int()
            fields[number] = head & 15 == _TRUE if head & 15 in (_TRUE, _FALSE) else self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            msg = "nested too deep"
            raise LookupError(msg)
        if kind in _INTS:
            return self._int()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            # an element takes a byte at least
            if count > len(self._data) - self.at:
                msg = "a list longer than the footer"
                raise LookupError(msg)
            return [self._value(_BYTE if head & 15 in (_TRUE, _FALSE) else head & 15, depth + 1) for _ in range(count)]
        if kind == _BINARY:
            return self._skip(self._unsigned())
        if kind in (_BYTE, _DOUBLE):
            return self._skip(8 if kind == _DOUBLE else 1)
        msg = f"a value of kind {kind}"
        raise LookupError(msg)

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 7 * _LONGEST:
                msg = "a whole number without an end"
                raise LookupError(msg)
        return value | byte << shift

    def _int(self) -> int:
        value = self._unsigned()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1
