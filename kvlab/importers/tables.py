"""Pasted tables of figures, as events: a row with a request's number, its tokens or its times becomes a request, every other figure an `observed`.

A table of gauges with the columns before and after is read along its rows: the gauge stands in the first cell, the column is the label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.errors import UnreadableInput
from kvlab.importers import table_titles as titles
from kvlab.importers.figures import Figure, read_figure, undressed
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.table_shapes import Grid, read_grid
from kvlab.importers.table_titles import Column
from kvlab.units import LARGEST

MOST_BYTES = 1 << 26
"""Bytes of a table that are read."""

MOST_REQUEST = 10**9

_PIECES = re.compile(r"[-+~]?\d[\d.,]*(?:\s?(?:[KMGT]i?B|[KMGT]|B)\b)?")
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
        else:
            self._table(grid)

    def _gauges(self, grid: Grid) -> None:
        for place, cells in zip(grid.places, grid.rows, strict=True):
            figures = _as_bytes([read_figure(cell) for cell in cells[1:]])
            gauge = re.sub(r"[\s\-]+", "_", undressed(cells[0]).lower())[:80]
            for title, cell, figure in zip(grid.titles[1:], cells[1:], figures, strict=True):
                self._observe(0, Column(titles.GAUGE, gauge), figure, cell, title.strip().lower())
            self._counted(place, any(figures), " ".join(cells))

    def _table(self, grid: Grid) -> None:
        columns = [titles.columns_of(title) for title in grid.titles]
        by_role = {column.role for several in columns for column in several}
        is_requests = bool(by_role & _OF_REQUESTS)
        units = [_column_figures([row[place] for row in grid.rows], columns[place]) for place in range(len(columns))]
        for index, (place, row) in enumerate(zip(grid.places, grid.rows, strict=True)):
            cells = [cell for place_, several in enumerate(columns) for cell in _cells(several, row[place_], units[place_][index])]
            self._counted(place, self._row(cells, index + 1 if is_requests else 0), " ".join(row))

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
        rows = self._rows
        rows.request = number
        if number:
            counts = {
                role: _count(by_role[role][0]) for role in (titles.TOKENS, titles.MATCHED, titles.CACHED, titles.LEFT, titles.GENERATED) if role in by_role
            }
            self._request(label, counts, by_role)
        for column, figure, text in cells:
            if column.role == titles.GAUGE or (column.role == titles.PEAK and not number):
                self._observe(number, column, figure, text, column.arm or (label if undressed(text) != label else ""))
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

    def _observe(self, request: int, column: Column, figure: Figure | None, text: str, label: str) -> None:
        if figure is None and not text.strip():
            return
        words = undressed(text)[:120] if figure is None else None
        value, number = (None, None) if figure is None else (figure.observed, figure.number)
        unit, step = ("", None) if figure is None else (figure.unit, figure.step)
        self._rows.add_to(request, "observed", (column.gauge, label[:200], value, number, words, unit, step, None, ""))

    def _counted(self, place: int, read: bool, text: str) -> None:  # noqa: FBT001  what became of it
        self._summary.line = place
        self._summary.count("row" if read else "row whose figures do not fit its heading", READ if read else NOT, text)


def _cells(columns: list[Column], text: str, figures: list[Figure | None]) -> list[Cell]:
    return [(column, figure, text) for column, figure in zip(columns, figures, strict=True)]


def _column_figures(cells: list[str], columns: list[Column]) -> list[list[Figure | None]]:
    """Return the figures of every cell of a column: one each, or as many as its heading names."""
    if len(columns) == 1:
        return [[figure] for figure in _as_bytes([read_figure(cell, columns[0].unit) for cell in cells])]
    found: list[list[Figure | None]] = []
    for cell in cells:
        pieces = [read_figure(piece) for piece in _PIECES.findall(cell)]
        found.append(pieces if len(pieces) == len(columns) else [None] * len(columns))
    return found


def _as_bytes(figures: list[Figure | None]) -> list[Figure | None]:
    """Return the figures with a bare 0 read as bytes if the others are bytes."""
    of_bytes = next((figure for figure in figures if figure is not None and figure.observed is not None), None)
    if of_bytes is None:
        return figures
    zero = Figure(0, None, of_bytes.unit, of_bytes.step)
    return [zero if figure is not None and figure.observed is None and figure.number == 0 else figure for figure in figures]


def _count(figure: Figure | None) -> int | None:
    number = figure.number if figure is not None and not figure.unit else None
    return int(number) if number is not None and 0 <= number <= LARGEST // 2 and number == int(number) else None
