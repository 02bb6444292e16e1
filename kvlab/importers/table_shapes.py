"""The shapes in which people paste tables: markdown, separated values (comma, semicolon, tab), columns kept apart by spaces or bars, and figures with names.

Lines of figures with names, `t+3min   regions=4   footprint=501M`, have a column a name, and one for what is before the first; lines that are one figure of
bytes each are a series without a name.

Invariants: a table has a heading and rows of as many cells; a row of another length is handed out as lines that are not understood; no cell is longer
than `LONGEST_CELL`; more than `MOST_ROWS` rows or `MOST_COLUMNS` columns are refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kvlab.errors import UnreadableInput
from kvlab.importers.figures import read_figure, undressed

MOST_ROWS = 1_000_000
MOST_COLUMNS = 200
LONGEST_CELL = 300

Splitter = Callable[[str], list[str]]

_RULE = re.compile(r"[\s|:\-=+]+")
_UNDER_A_HEADING = re.compile(r"\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*")
_GAP = re.compile(r"\s{2,}|\t")
_PAIR = re.compile(r"(?P<name>[A-Za-z_][\w.\-]{0,60})\s?[=:]\s?(?P<value>\"[^\"]*\"|[^\s,;=]+(?:(?<=\d),\d{1,3}(?= [KMGT]i?B\b))?(?: [KMGT]i?B\b)?)[,;]?")
_BARE = re.compile(r"\s*[~≈]?\d[\d.,]* ?[KMGT]i?B\s*")
_DECIMAL_COMMA = re.compile(r"\d,\d{1,3} ?[KMGT]i?B\b")
LEAST_PAIRS = 2
"""Lines that make a series."""


@dataclass(slots=True)
class Grid:
    """A table as text.

    Attributes:
        shape: markdown, separated, bars or columns.
        titles: The heading.
        rows: The cells of each row.
        places: The line of each row, from 1.
        odd: Lines that do not fit, each with its number.
        comments: Lines that are comments or rules.
        head: The line of the heading; 0 for none.
    """

    shape: str
    titles: list[str]
    rows: list[list[str]] = field(default_factory=list[list[str]])
    places: list[int] = field(default_factory=list[int])
    odd: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    comments: int = 0
    head: int = 1

    def shift(self, above: Sequence[str]) -> None:
        """Lines of prose are above it."""
        self.places = [place + len(above) for place in self.places]
        self.odd = [*enumerate(above, 1), *((place + len(above), line) for place, line in self.odd)]
        self.head += len(above) if self.head else 0


def read_grid(lines: Sequence[str]) -> Grid | None:
    """Return the table that lines hold; None when they hold none.

    Raises:
        UnreadableInput: it has too many rows or columns.
    """
    shown = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("```")]
    begin = next((place for place, (_, line) in enumerate(shown[1:]) if _UNDER_A_HEADING.fullmatch(line)), None)
    before = shown[:begin] if begin is not None else []
    shown = shown[len(before) :]
    comments = sum(line.lstrip().startswith("#") for _, line in shown)
    shown = [(number, line) for number, line in shown if not line.lstrip().startswith("#")]
    if len(shown) < 2:
        return None
    if len(shown) > MOST_ROWS:
        raise UnreadableInput(f"the table has {len(shown):,} rows", f"at most {MOST_ROWS:,} are read", "split it")
    for shape, split in _shapes(shown[0][1]):
        grid = _grid(shape, split(shown[0][1]), [(number, line, split(line)) for number, line in shown[1:]])
        if grid is not None:
            grid.comments += comments + sum(line.startswith("```") for line in lines)
            grid.odd = [*before, *grid.odd]
            grid.head = shown[0][0]
            return grid
    return None


def _shapes(first: str) -> list[tuple[str, Splitter]]:
    shapes: list[tuple[str, Splitter]] = []
    if first.strip().startswith("|"):
        shapes.append(("markdown", _bars))
    elif "|" in first:
        shapes.append(("bars", _bars))
    shapes += [("separated", _separated(sign)) for sign in "\t;," if sign in first and not (sign == "," and _DECIMAL_COMMA.search(first))]
    shapes += [("columns", _columns), ("columns", str.split)]
    return shapes


def _grid(shape: str, titles: list[str], shown: list[tuple[int, str, list[str]]]) -> Grid | None:
    figures = sum(map(_is_figure, titles))
    # turns may stand across the top: then the first heading alone is none
    if not 2 <= len(titles) <= MOST_COLUMNS or (figures and (shape == "columns" or figures < len(titles) - 1 or _is_figure(titles[0]))):
        return None
    grid = Grid(shape, [title[:LONGEST_CELL] for title in titles])
    for number, line, cells in shown:
        if _RULE.fullmatch(line):
            grid.comments += 1
        elif len(cells) == len(titles):
            grid.rows.append([cell[:LONGEST_CELL] for cell in cells])
            grid.places.append(number)
        else:
            grid.odd.append((number, line))
    has_figures = any(_is_figure(cell) or (shape == "bars" and any(map(_is_figure, cell.split()))) for row in grid.rows[:50] for cell in row)
    # in markdown a rule under the heading says where the table is, whatever is around it
    return grid if (shape == "markdown" or len(grid.rows) > len(grid.odd)) and grid.rows and has_figures else None


def _is_figure(text: str) -> bool:
    return read_figure(text) is not None


def _bars(line: str) -> list[str]:
    text = line.strip()
    return [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")]


def _columns(line: str) -> list[str]:
    return [cell for cell in _GAP.split(line.strip()) if cell]


def _separated(sign: str) -> Splitter:
    def split(line: str) -> list[str]:
        try:
            row: list[str] = next(csv.reader([line], delimiter=sign, skipinitialspace=True))
        except (csv.Error, StopIteration):
            return []
        return [undressed(cell) if "*" in cell else cell.strip() for cell in row]

    return split


def grid_of_pairs(lines: Sequence[str]) -> Grid | None:
    """Return lines of names with figures, or of one figure each, as a table; None when they are none."""
    if len(lines) >= LEAST_PAIRS and all(_BARE.fullmatch(line) for line in lines):
        return Grid("pairs", ["figures"], [[line.strip()] for line in lines], [*range(1, len(lines) + 1)], head=0)
    rows = [(line, [*_PAIR.finditer(line)]) for line in lines]
    found = [(line, pairs) for line, pairs in rows if pairs]
    if len(found) < LEAST_PAIRS or 2 * len(found) <= len(lines):
        return None
    names = list(dict.fromkeys(pair["name"] for _, pairs in found for pair in pairs))
    first = [line[: pairs[0].start()].strip() for line, pairs in found]
    if not any(read_figure(pair["value"].strip('"')) for _, pairs in found for pair in pairs):
        return None
    titles = (["when"] if any(first) else []) + names
    grid = Grid("pairs", titles, head=0)
    for place, (line, pairs) in enumerate(rows, 1):
        if not pairs:
            grid.odd.append((place, line))
            continue
        shown = {pair["name"]: pair["value"].strip('"') for pair in pairs}
        grid.rows.append(([line[: pairs[0].start()].strip()] if any(first) else []) + [shown.get(name, "") for name in names])
        grid.places.append(place)
    return grid
