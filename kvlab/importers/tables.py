"""Pasted tables of figures, as events: a row with a request's number, its tokens or its times becomes a request, every other figure an `observed`.

A table of gauges with the columns before and after is read along its rows: the gauge is in the first cell, the column is the label. One with turns or
arms across the top is turned first; times across the top are readings of one quantity that settles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kvlab.importers import table_own
from kvlab.importers import table_titles as titles
from kvlab.importers.account import Account
from kvlab.importers.figures import Figure, read_figure, undressed, without_remark
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, find_moment
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.table_known import seconds_after, times_across, turned, unread
from kvlab.importers.table_shapes import Grid
from kvlab.importers.table_titles import Column
from kvlab.importers.table_units import as_bytes, column_figures, signs_of
from kvlab.units import LARGEST

MOST_REQUEST = 10**9

NOTHING = frozenset({"", "-", "\u2013", "\u2014", "n/a", "na", "none", "null", "?"})
"""Cells that say that no figure is there."""

_COUNTS = (titles.TOKENS, titles.MATCHED, titles.CACHED, titles.LEFT, titles.GENERATED)
_OF_REQUESTS = frozenset({titles.REQUEST, titles.PROMPT, titles.TTFT, *_COUNTS})
_LEADING = re.compile(r"~?(\d[\d,.]*)\s+\D")

Cell = tuple[Column, Figure | None, str]


class Table:
    """Reads tables into rows."""

    def __init__(self, rows: Rows, summary: Summary, clock: Clock, account: Account) -> None:
        self._rows = rows
        self._summary = summary
        self._clock = clock
        self._account = account
        self._places: Sequence[tuple[int, str]] = ()
        self._first = 0

    def read(self, grid: Grid, lines: Sequence[tuple[int, str]]) -> None:
        """Read one whose lines have these numbers in the text.

        Raises:
            UnreadableInput: its points may be thousands or decimals, and nothing decides it.
        """
        self._places = lines
        # requests of a table that follows others are further ones
        self._first = self._rows.highest
        self._of_kind(grid)
        odd = dict(grid.odd)
        for number, line in odd.items():
            self._count(number, "row with another number of cells" if number > grid.head else "other text", NOT, line)
        if grid.head:
            self._count(grid.head, "heading", READ, " ".join(grid.titles))
        taken = {*odd, grid.head, *grid.places}
        for number, (_, text) in enumerate(lines, 1):
            if number not in taken:
                self._count(number, "comment or rule", KNOWN, text)
        self._summary.line = lines[-1][0]

    def _of_kind(self, grid: Grid) -> None:
        if {"before", "after"} <= {title.strip().lower() for title in grid.titles[1:]} and turned(grid) is None:
            self._gauges(grid)
        elif table_own.is_own(grid.titles):
            for place, cells in zip(grid.places, grid.rows, strict=True):
                self._counted(place, table_own.write_row(self._rows, grid.titles, cells), cells)
        elif times := times_across(grid.titles):
            self._settling(grid, times)
        elif (other := turned(grid)) is not None:
            self._table(other)
            for place, cells in zip(grid.places[1:], grid.rows[1:], strict=True):
                self._counted(place, read=True, cells=cells, names=[cells[0]] * len(cells))
        else:
            self._table(grid)

    def _gauges(self, grid: Grid) -> None:
        for place, cells in zip(grid.places, grid.rows, strict=True):
            figures = as_bytes([read_figure(without_remark(cell)) for cell in cells[1:]])
            gauge = re.sub(r"[\s\-]+", "_", undressed(cells[0]).lower())[:80]
            for title, cell, figure in zip(grid.titles[1:], cells[1:], figures, strict=True):
                self._observe(0, Column(titles.GAUGE, gauge), figure, cell, title.strip().lower())
            self._counted(place, any(figures), cells, names=[gauge] * len(cells))

    def _settling(self, grid: Grid, times: dict[int, float]) -> None:
        """Read readings of one quantity after an event: the event's time counts the seconds since it."""
        rows, before = self._rows, self._rows.t
        for place, cells in zip(grid.places, grid.rows, strict=True):
            unit = next((figure.unit for cell in cells[1:] if (figure := read_figure(without_remark(cell))) and figure.unit), "")
            label = undressed(cells[0])
            names: list[str] = []
            for at, (title, cell) in enumerate(zip(grid.titles, cells, strict=True)):
                column = titles.columns_of(title)[0] if at not in times else Column(titles.GAUGE, "settling")
                names.append(column.gauge)
                figure = read_figure(without_remark(cell), unit) if at else None
                if figure is not None and (at in times or column.gauge in titles.GAUGES):
                    rows.t = before + times.get(at, max(times.values()))
                    self._observe(0, column, figure, cell, label)
            self._counted(place, read=True, cells=cells, names=names)
        rows.t = before

    def _table(self, grid: Grid) -> None:
        columns = titles.arms_of(grid.titles)
        by_role = {column.role for several in columns for column in several}
        is_requests = bool(by_role & _OF_REQUESTS)
        signs = signs_of(cell for row in grid.rows for cell in row)
        figures = [column_figures(title, [row[place] for row in grid.rows], columns[place], signs) for place, title in enumerate(grid.titles)]
        columns = [_summed(several, found) for several, found in zip(columns, figures, strict=True)]
        if titles.PROMPT in by_role:
            columns = [_round(several, found) for several, found in zip(columns, figures, strict=True)]
        self._summary.notes += unread(grid, columns, figures)
        with_figures = {several[0] for several, found in zip(columns, figures, strict=True) if any(figure is not None for row in found for figure in row)}
        names = [several[0].gauge if several[0].role == titles.GAUGE else several[0].role for several in columns]
        for index, (place, row) in enumerate(zip(grid.places, grid.rows, strict=True)):
            cells = [cell for column, several in enumerate(columns) for cell in _cells(several, row[column], figures[column][index])]
            possible: list[Cell] = [(column, None, "") if _cannot_be(column, figure) else (column, figure, text) for column, figure, text in cells]
            read = self._row(possible, index + 1 if is_requests else 0, first=index == 0)
            whole = all(_is_read(*cell) for cell in cells if cell[0] in with_figures)
            self._counted(place, read, row, whole=whole, names=names)

    def _row(self, cells: list[Cell], number: int, *, first: bool) -> bool:
        if any(figure is None and column.arm and not text.strip() for column, figure, text in cells):
            return False
        by_role = {column.role: (figure, text) for column, figure, text in cells if column.role != titles.GAUGE}
        if titles.REQUEST in by_role:
            own = _number(*by_role[titles.REQUEST], first=first)
            if own is None or own > MOST_REQUEST:
                return False
            number = own
        number = number + self._first if number else 0
        named = next((by_role[role][1] for role in (titles.LABEL, titles.PROMPT) if role in by_role), None)
        if named is None:
            named = next((text for column, figure, text in cells if figure is None and text and column.role == titles.GAUGE and not column.arm), "")
        label, rows, at = undressed(named), self._rows, self._moment(by_role)
        pid = _count(by_role.get(titles.PID, (None, ""))[0])
        rows.request = number
        if pid is not None:
            rows.add("process_seen", pid, None, "", "", at)
        if number:
            counts = {role: _count(by_role[role][0]) for role in _COUNTS if role in by_role}
            length = next((column.tokens for column, _, _ in cells if column.tokens is not None), None)
            self._request(label, counts if length is None else {titles.TOKENS: length, **counts}, by_role)
        for column, figure, text in cells:
            if column.role == titles.GAUGE or (column.role == titles.PEAK and not number):
                self._observe(number, column, figure, text, column.arm or (label if undressed(text) != label else ""), at, pid)
        rows.request = 0
        return True

    def _moment(self, by_role: dict[str, tuple[Figure | None, str]]) -> str:
        """Move to the moment of a row, or to the seconds after the first one that it names; return the moment as it was found."""
        for role in (titles.TIME, titles.LABEL):
            text = by_role.get(role, (None, ""))[1]
            if at := find_moment(text):
                self._rows.t = self._clock.read(at, in_order=False)
                return at
            if (after := seconds_after(text)) is not None:
                self._rows.t = after
        return ""

    def _request(self, label: str, counts: dict[str, int | None], by_role: dict[str, tuple[Figure | None, str]]) -> None:
        rows = self._rows
        rows.requests += 1
        rows.highest = max(rows.highest, rows.request)
        tokens, cached, left = counts.get(titles.TOKENS), counts.get(titles.CACHED), counts.get(titles.LEFT)
        if tokens is None and cached is not None and left is not None:
            tokens = cached + left
        rows.add("request_began", label, tokens)
        if left is None and tokens is not None and cached is not None:
            left = tokens - cached
        if cached is not None or counts.get(titles.MATCHED) is not None:
            rows.add("matched", tokens, counts.get(titles.MATCHED), cached, left, None, None)
        ttft, peak = by_role.get(titles.TTFT, (None, ""))[0], by_role.get(titles.PEAK, (None, ""))[0]
        if ttft is not None or peak is not None or counts.get(titles.GENERATED) is not None:
            rows.add("request_closed", counts.get(titles.GENERATED), None, None, None, peak.observed if peak else None, ttft.number if ttft else None)

    def _observe(self, request: int, column: Column, figure: Figure | None, text: str, label: str, at: str = "", pid: int | None = None) -> None:
        if figure is None and not text.strip():
            return
        words = undressed(text)[:120] if figure is None else None
        value, number = (None, None) if figure is None else (figure.observed, figure.number)
        unit, step = ("", None) if figure is None else (figure.unit, figure.step)
        self._rows.add_to(request, "observed", (column.gauge, label[:200], value, number, words, unit, step, pid, at))

    def _counted(self, place: int, read: bool, cells: Sequence[str], *, whole: bool = True, names: Sequence[str] = ()) -> None:  # noqa: FBT001  what became of it
        number, text = self._places[place - 1]
        if read:
            at = 0
            for name, cell in zip(names, cells, strict=False):
                at = max(at, text.find(cell, at))
                figure = re.search(r"\d[\d.,\u202f ]*(?<=\d)(?:\s?[A-Za-z/%]+\b)?", cell)
                if figure is not None:
                    self._account.take(number, at + figure.start(), at + figure.end(), name)
                at += len(cell)
        name = "row" if read and whole else "row with a figure that is not understood" if read else "row whose figures do not fit its heading"
        self._count(place, name, READ if read and whole else NOT, " ".join(cells))

    def _count(self, place: int, name: str, became: str, text: str) -> None:
        self._summary.line, shown = self._places[place - 1]
        self._summary.count(name, became, text)
        self._account.line(self._summary.line, shown, became)


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


def _summed(columns: list[Column], figures: Sequence[Sequence[Figure | None]]) -> list[Column]:
    """Return a column of generated tokens that counts them from the first row on as that; others as they are."""
    if columns[0].role != titles.GENERATED:
        return columns
    counts = [_count(row[0]) for row in figures]
    known = [count for count in counts if count is not None]
    rises = len(known) > 2 and known[0] == 0 and all(one < other for one, other in pairwise(known))
    return [Column(titles.GAUGE, "generated_total")] if rises else columns


def _round(columns: list[Column], figures: Sequence[Sequence[Figure | None]]) -> list[Column]:
    """Return a column of numbers that come again with other prompts as rounds; others as they are."""
    counts = [_count(row[0]) for row in figures]
    return [Column(titles.GAUGE, "round")] if columns[0].role == titles.REQUEST and len(set(counts)) < len(counts) else columns


def _number(figure: Figure | None, text: str, *, first: bool) -> int | None:
    """Return a request's number: also of `100 distinct prompts`; words alone in the first row are the state before the first request."""
    if figure is None and (found := _LEADING.match(undressed(text))) is not None:
        figure = read_figure(found[1])
    if figure is None and first and re.search(r"[^\W\d_]{3}", text) and not re.search(r"\d", text):
        return 0
    return _count(figure)


def _count(figure: Figure | None) -> int | None:
    number = figure.number if figure is not None and not figure.unit else None
    return int(number) if number is not None and 0 <= number <= LARGEST // 2 and number == int(number) else None
