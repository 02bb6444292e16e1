"""What a parquet file says of its size before any of it is unpacked: rows, and bytes of its columns.

Polars reads a part at once, and a small one may unpack to far more than a machine has. The end of a parquet file has both counts, in Thrift's compact
protocol (Apache Parquet format, `FileMetaData`: field 2 the columns after a root, field 3 the rows, field 4 the row groups, with their bytes unpacked in
field 2 and their rows in field 3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

_SCHEMA, _ROWS, _GROUPS, _GROUP_BYTES, _GROUP_ROWS = 2, 3, 4, 2, 3
_MAGIC = b"PAR1"
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTS = (4, 5, 6)
_DEEPEST = 16


class Size(NamedTuple):
    """What a parquet file unpacks to: values (rows times columns), and bytes of all columns before repeats are written out."""

    values: int
    bytes: int


def size_of(data: bytes) -> Size:
    """Return what a parquet file says of its size.

    Raises:
        ValueError: it is no parquet file, or its footer is damaged.
    """
    length = int.from_bytes(data[-8:-4], "little")
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or length + 12 > len(data):
        msg = "no parquet file"
        raise ValueError(msg)
    try:
        about = _Reader(data[-8 - length : -8]).struct()
        rows = max(about[_ROWS], sum(max(0, group[_GROUP_ROWS]) for group in about[_GROUPS]))
        return Size(rows * max(1, len(about[_SCHEMA]) - 1), sum(max(0, group[_GROUP_BYTES]) for group in about[_GROUPS]))
    except (LookupError, TypeError) as error:
        msg = "a damaged footer"
        raise ValueError(msg) from error


class _Reader:
    """Values in Thrift's compact protocol, one after the other; structs by the numbers of their fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

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
            if count > len(self._data) - self._at:
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
        self._at += 1
        return self._data[self._at - 1]

    def _skip(self, count: int) -> None:
        self._at += count

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _int(self) -> int:
        value = self._unsigned()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1
