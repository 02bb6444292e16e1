"""How a column of a pasted table is read: what points and commas stand for in it, and which of its bare figures are bytes.

Rules: a column is read in one way. What its own cells say counts first, then what the table's other cells say. Points before three figures in a column of
megabytes that nothing explains may be thousands or decimals: then nobody guesses, the table is refused. Whole numbers from `LEAST_BARE` up in a column that
is known to hold bytes are bytes, as /api/ps has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kvlab.errors import UnreadableInput
from kvlab.importers.figures import FIRST_LETTERS, Figure, read_figure, undressed, without_remark
from kvlab.importers.formats import OF_WORDS
from kvlab.importers.table_titles import COUNTS, Column, holds_bytes
from kvlab.units import LARGEST

LEAST_BARE = 10**8
"""The least whole number that shows that a column's figures without a unit are bytes."""

_PIECES = re.compile(r"[-+~]?\d[\d.,]*(?:\s?(?:[KMGT]i?B|[KMGT]|B)\b)?")
_MEGA = frozenset({"mb", "mib", "m"})
_POINT_IS_DECIMAL = re.compile(r"\d\.(?:\d{1,2}|\d{4,})(?![\d.,])|^[-+]?0\.|,\d{3}\.\d")
_POINT_IS_THOUSANDS = re.compile(r"\d\.\d{3}\.\d{3}|\.\d{3},\d")
_COMMA_IS_DECIMAL = re.compile(r"\d,(?:\d{1,2}|\d{4,})(?![\d.,])|^[-+]?0,|\.\d{3},\d")
_COMMA_IS_THOUSANDS = re.compile(r"\d,\d{3},\d{3}|,\d{3}\.\d")
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})\.(?=\d{3}(?:\.\d{3})*(?![\d.]))|(?<=\d{3})\.(?=\d{3}(?![\d.]))")
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}(?!\d)")


@dataclass(frozen=True, slots=True)
class Signs:
    """What a point and a comma are in some cells: "decimal" or "thousands"; "" when the cells do not say, or say both."""

    point: str = ""
    comma: str = ""


def signs_of(cells: Iterable[str]) -> Signs:
    """Return what cells say of their points and commas."""
    figures = [bare for cell in cells if (bare := undressed(cell))[:1] in FIRST_LETTERS and read_figure(bare) is not None]
    point = _said(figures, _POINT_IS_DECIMAL, _POINT_IS_THOUSANDS)
    comma = _said(figures, _COMMA_IS_DECIMAL, _COMMA_IS_THOUSANDS)
    return Signs(point, comma)


def _said(figures: Sequence[str], decimal: re.Pattern[str], thousands: re.Pattern[str]) -> str:
    is_decimal, is_thousands = any(map(decimal.search, figures)), any(map(thousands.search, figures))
    return "" if is_decimal == is_thousands else "decimal" if is_decimal else "thousands"


def column_figures(title: str, cells: Sequence[str], columns: Sequence[Column], table: Signs) -> list[list[Figure | None]]:
    """Return the figures of every cell of a column: one each, or as many as its heading names.

    Raises:
        UnreadableInput: its points may be thousands or decimals, and nothing decides it.
    """
    cells = [cell if read_figure(cell) is not None else without_remark(cell) for cell in cells]
    if len(columns) == 1:
        column = columns[0]
        if column.gauge in OF_WORDS:
            return [[None] for _ in cells]
        plain = _plain(title, cells, column, table)
        return [[figure] for figure in bare_bytes(as_bytes([read_figure(cell, column.unit) for cell in plain]), column)]
    found: list[list[Figure | None]] = []
    for cell in cells:
        pieces = [read_figure(piece) for piece in _PIECES.findall(cell)]
        found.append(pieces if len(pieces) == len(columns) else [None] * len(columns))
    return found


def as_bytes(figures: list[Figure | None]) -> list[Figure | None]:
    """Return the figures with a bare 0 read as bytes if the others are bytes."""
    of_bytes = next((figure for figure in figures if figure is not None and figure.observed is not None), None)
    if of_bytes is None:
        return figures
    zero = Figure(0, None, of_bytes.unit, of_bytes.step)
    return [zero if figure is not None and figure.observed is None and figure.number == 0 else figure for figure in figures]


def bare_bytes(figures: list[Figure | None], column: Column) -> list[Figure | None]:
    """Return the figures of a column of bytes with its bare whole numbers as bytes, if one of them is too large to be anything else."""
    bare = [figure.number for figure in figures if figure is not None and figure.number is not None and not figure.unit]
    if not (holds_bytes(column) and bare and max(bare) >= LEAST_BARE and all(number == int(number) for number in bare)):
        return figures
    # a count of bytes that no event can hold stays a number
    return [
        Figure(int(one.number), None, "B", 1) if one is not None and one.number is not None and not one.unit and abs(one.number) < LARGEST else one
        for one in figures
    ]


def _plain(title: str, cells: Sequence[str], column: Column, table: Signs) -> Sequence[str]:
    """Return a column's cells with a point as the decimal sign and nothing between thousands, where that is not clear from each cell alone."""
    if table.comma == "decimal" and table.point != "decimal":
        # a point before three figures is between thousands where a comma is the decimal sign
        cells = [_THOUSANDS.sub(r"\1", cell) if _THOUSANDS.search(cell) else cell for cell in cells]
    if column.role in COUNTS:
        return _counts(title, cells, table)
    figures = [read_figure(cell, column.unit) for cell in cells]
    units = {figure.unit.lower() for figure in figures if figure is not None and figure.observed is not None}
    if not units & (_MEGA | {"b", "bytes", "kb", "kib", "k"}):
        return cells
    own = signs_of(cells)
    # where one of both is decimal, the other one is not
    says = [own.point, _other(own.comma), table.point, _other(table.comma)]
    point = next((one for one in says if one), "")
    if not point and units & _MEGA and (odd := next((cell for cell in cells if _EITHER.match(undressed(cell))), None)) is not None:
        shown = undressed(odd)
        raise UnreadableInput(
            what=f"the column {title.strip()!r} can be read in two ways: {shown} may be {shown.replace('.', '')} or {shown.partition('.')[0]}, in megabytes",
            why="a point before three figures is between thousands or is a decimal sign, and no other figure of the table decides it",
            hint=f"write {shown.replace('.', '')} without points, or give the column in GB",
        )
    if point == "thousands":
        return [cell.replace(".", "").replace(",", ".") for cell in cells]
    if own.comma == "decimal":
        return [cell.replace(",", ".") for cell in cells]
    return [cell.replace(",", "") for cell in cells] if own.point == "decimal" and _EITHER.search(" ".join(cells)) else cells


def _counts(title: str, cells: Sequence[str], table: Signs) -> Sequence[str]:
    """Return whole numbers without the points between their thousands."""
    dotted = [cell for cell in cells if _EITHER.fullmatch(undressed(cell))]
    if not dotted or table.point == "decimal" or table.comma == "thousands":
        return cells
    if table.point != "thousands" and table.comma != "decimal" and all(undressed(cell).endswith(".000") for cell in dotted):
        shown = undressed(dotted[0])
        raise UnreadableInput(
            what=f"the column {title.strip()!r} can be read in two ways: {shown} may be {shown.replace('.', '')} or {shown.partition('.')[0]}",
            why="a point before three figures is between thousands or is a decimal sign, and no other figure of the table decides it",
            hint=f"write {shown.replace('.', '')} without points",
        )
    return [cell.replace(".", "") if cell in dotted else cell for cell in cells]


def _other(says: str) -> str:
    return {"decimal": "thousands", "thousands": "decimal"}.get(says, "")
