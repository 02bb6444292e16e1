"""Pasted tables of figures, as events: a row with a request's number, its tokens or its times becomes a request, every other figure an `observed`.

A table of gauges with the columns before and after is read along its rows: the gauge stands in the first cell, the column is the label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.errors import UnreadableInput
from kvlab.importers import table_own
from kvlab.importers import table_titles as titles
from kvlab.importers.figures import Figure, read_figure, undressed
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, find_moment
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.table_known import unread
from kvlab.importers.table_shapes import Grid, read_grid
from kvlab.importers.table_titles import Column
from kvlab.importers.table_units import as_bytes, column_figures, signs_of
from kvlab.units import LARGEST

MOST_BYTES = 1 << 26
"""Bytes of a table that are read."""

MOST_REQUEST = 10**9

NOTHING = frozenset({"", "-", "\u2013", "\u2014", "n/a", "na", "none", "null", "?"})
"""Cells that say that no figure is there."""

_OF_REQUESTS = frozenset({titles.REQUEST, titles.PROMPT, titles.TOKENS, titles.MATCHED, titles.CACHED, titles.LEFT, titles.GENERATED, titles.TTFT})

Cell = tuple[Column, Figure | None, str]


class Table:
    """Reads one table.

    Attributes:
        clock: Turns moments into seconds.
        model: "": a table names none.
        version: None.
    """

    kind = "table"
    model = ""
    version: str | None = None

    def __init__(self, rows: Rows, summary: Summary) -> None:
        self._rows = rows
        self._summary = summary
        self._text: list[str] = []
        self._length = 0
        self.clock = Clock()

    def lines(self, lines: Sequence[bytes]) -> None:
        """Keep the next lines: what a column means is known from its heading and all its cells."""
        self._length += sum(map(len, lines))
        if self._length > MOST_BYTES:
            raise UnreadableInput(f"the table has more than {MOST_BYTES:,} bytes", "a table is read as a whole", "split it")
        self._text += [line.decode("utf-8", "replace") for line in lines]

    def finish(self) -> None:
        """Read what was kept.

        Raises:
            UnreadableInput: it is no table.
        """
        grid = read_grid(self._text)
        if grid is None:
            raise UnreadableInput(
                what="no table of figures stands there",
                why="a heading, and below it rows of as many cells with figures among them, are looked for",
                hint="paste it as markdown, as CSV, or in columns two spaces apart",
            )
        summary = self._summary
        for number, line in grid.odd:
            summary.line = number
            summary.count("row with another number of cells", NOT, line)
        summary.line = 1
        summary.count("heading", READ)
        summary.count("comment or rule", KNOWN, times=grid.comments)
        summary.count("blank", KNOWN, times=sum(not line.strip() for line in self._text))
        if {"before", "after"} <= {title.strip().lower() for title in grid.titles[1:]}:
            self._gauges(grid)
        elif table_own.is_own(grid.titles):
            for place, cells in zip(grid.places, grid.rows, strict=True):
                self._counted(place, table_own.write_row(self._rows, grid.titles, cells), " ".join(cells))
        else:
            self._table(grid)

    def _gauges(self, grid: Grid) -> None:
        for place, cells in zip(grid.places, grid.rows, strict=True):
            figures = as_bytes([read_figure(cell) for cell in cells[1:]])
            gauge = re.sub(r"[\s\-]+", "_", undressed(cells[0]).lower())[:80]
            for title, cell, figure in zip(grid.titles[1:], cells[1:], figures, strict=True):
                self._observe(0, Column(titles.GAUGE, gauge), figure, cell, title.strip().lower())
            self._counted(place, any(figures), " ".join(cells))

    def _table(self, grid: Grid) -> None:
        columns = [titles.columns_of(title) for title in grid.titles]
        by_role = {column.role for several in columns for column in several}
        is_requests = bool(by_role & _OF_REQUESTS)
        signs = signs_of(cell for row in grid.rows for cell in row)
        figures = [column_figures(title, [row[place] for row in grid.rows], columns[place], signs) for place, title in enumerate(grid.titles)]
        self._summary.notes += unread(grid, columns, figures)
        asked = {several[0] for several, found in zip(columns, figures, strict=True) if any(figure is not None for row in found for figure in row)}
        for index, (place, row) in enumerate(zip(grid.places, grid.rows, strict=True)):
            cells = [cell for column, several in enumerate(columns) for cell in _cells(several, row[column], figures[column][index])]
            possible: list[Cell] = [(column, None, "") if _cannot_be(column, figure) else (column, figure, text) for column, figure, text in cells]
            read = self._row(possible, index + 1 if is_requests else 0)
            whole = all(_is_read(*cell) for cell in cells if cell[0] in asked)
            self._counted(place, read, " ".join(row), whole=whole)

    def _row(self, cells: list[Cell], number: int) -> bool:
        if any(figure is None and column.arm for column, figure, _ in cells):
            return False
        by_role = {column.role: (figure, text) for column, figure, text in cells if column.role != titles.GAUGE}
        if titles.REQUEST in by_role:
            told = _count(by_role[titles.REQUEST][0])
            if told is None or told > MOST_REQUEST:
                return False
            number = told
        named = next((by_role[role][1] for role in (titles.LABEL, titles.PROMPT) if role in by_role), None)
        if named is None:
            named = next((text for column, figure, text in cells if figure is None and text and column.role == titles.GAUGE), "")
        label = undressed(named)
        rows, at = self._rows, find_moment(by_role[titles.TIME][1]) if titles.TIME in by_role else ""
        if at:
            rows.t = self.clock.read(at)
        rows.request = number
        if number:
            counts = {
                role: _count(by_role[role][0]) for role in (titles.TOKENS, titles.MATCHED, titles.CACHED, titles.LEFT, titles.GENERATED) if role in by_role
            }
            self._request(label, counts, by_role)
        for column, figure, text in cells:
            if column.role == titles.GAUGE or (column.role == titles.PEAK and not number):
                self._observe(number, column, figure, text, column.arm or (label if undressed(text) != label else ""), at)
        rows.request = 0
        return True

    def _request(self, label: str, counts: dict[str, int | None], by_role: dict[str, tuple[Figure | None, str]]) -> None:
        rows = self._rows
        rows.requests += 1
        tokens, cached, left = counts.get(titles.TOKENS), counts.get(titles.CACHED), counts.get(titles.LEFT)
        rows.add("request_began", label, tokens)
        if left is None and tokens is not None and cached is not None:
            left = tokens - cached
        if cached is not None or counts.get(titles.MATCHED) is not None:
            rows.add("matched", tokens, counts.get(titles.MATCHED), cached, left, None, None)
        ttft, peak = by_role.get(titles.TTFT, (None, ""))[0], by_role.get(titles.PEAK, (None, ""))[0]
        if ttft is not None or peak is not None or counts.get(titles.GENERATED) is not None:
            rows.add("request_closed", counts.get(titles.GENERATED), None, None, None, peak.observed if peak else None, ttft.number if ttft else None)

    def _observe(self, request: int, column: Column, figure: Figure | None, text: str, label: str, at: str = "") -> None:
        if figure is None and not text.strip():
            return
        words = undressed(text)[:120] if figure is None else None
        value, number = (None, None) if figure is None else (figure.observed, figure.number)
        unit, step = ("", None) if figure is None else (figure.unit, figure.step)
        self._rows.add_to(request, "observed", (column.gauge, label[:200], value, number, words, unit, step, None, at))

    def _counted(self, place: int, read: bool, text: str, *, whole: bool = True) -> None:  # noqa: FBT001  what became of it
        self._summary.line = place
        if read and whole:
            self._summary.count("row", READ)
        else:
            self._summary.count("row with a figure that is not understood" if read else "row whose figures do not fit its heading", NOT, text)


def _cannot_be(column: Column, figure: Figure | None) -> bool:
    """Return whether a figure is below 0 where none can be."""
    if figure is None or titles.may_be_negative(column):
        return False
    return (figure.observed or 0) < 0 or (figure.number or 0) < 0


def _is_read(column: Column, figure: Figure | None, text: str) -> bool:
    """Return whether a cell of bytes is a figure, or says that none is there."""
    if _cannot_be(column, figure):
        return False
    return figure is not None or not titles.holds_bytes(column) or undressed(text).lower() in NOTHING


def _cells(columns: list[Column], text: str, figures: list[Figure | None]) -> list[Cell]:
    return [(column, figure, text) for column, figure in zip(columns, figures, strict=True)]


def _count(figure: Figure | None) -> int | None:
    number = figure.number if figure is not None and not figure.unit else None
    return int(number) if number is not None and 0 <= number <= LARGEST // 2 and number == int(number) else None
