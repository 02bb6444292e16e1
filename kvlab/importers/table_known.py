"""Whether a table has figures that some question reads, which of its columns none does, and which way round it is; what is not read is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvlab.importers import table_titles as titles
from kvlab.importers.figures import Figure, read_duration, read_figure, undressed, without_remark
from kvlab.importers.table_own import is_own
from kvlab.importers.table_shapes import Grid
from kvlab.importers.table_titles import Column
from kvlab.importers.table_units import bare_bytes

LOOKED_AT = 200
"""Rows by which a table is recognised."""

OURS = "ours"

_COUNTS = frozenset({titles.MATCHED, titles.CACHED, titles.TTFT, titles.GENERATED})
_VAGUE = frozenset({"total", "tokens", "n", "nodes", "pressure", "processor", "free", "wired", "active", "physical", "delta", "size", "app", "clean", "dirty"})

_AFTER = re.compile(r"(?:^|[\s(\[])t? ?\+ ?(\d+(?:\.\d+)? ?(?:ms|s|sec|min|m|h)?)\)?\s*$")
_TURN = re.compile(r"^(?:(?:turn|req(?:uest)?|call|round|msg|iter(?:ation)?|轮|请求|anfrage|runde) ?#?)?\s*(\d{1,9})$", re.IGNORECASE)


def is_ours(grid: Grid) -> bool:
    """Return whether a table holds a column that some question reads, with figures: a `total`, a number of a row or a `size` of shirts is none."""
    heads = [title.strip().lower() for title in grid.titles]
    if is_own(heads) or {"nonce_ok", "answer_of"} <= set(heads):
        return True
    other = turned(grid)
    if other is None and {"before", "after"} <= set(heads[1:]):
        return any(_of_bytes(figure) for row in grid.rows[:LOOKED_AT] for figure in map(read_figure, row[1:]))
    if times_across(grid.titles):
        return any(_of_bytes(figure) for row in grid.rows[:LOOKED_AT] for figure in map(read_figure, row[1:]))
    grid = other or grid
    kinds = [_kind(grid, place) for place in range(len(grid.titles))]
    return OURS in kinds or {titles.REQUEST, titles.TOKENS} <= set(kinds)


def _kind(grid: Grid, place: int) -> str:
    """Return what a column with figures says of its table: `OURS`, or its role, which alone says little; "" for one without figures."""
    title, columns = grid.titles[place], titles.columns_of(grid.titles[place])
    if len(columns) > 1:
        return OURS
    column, cells = columns[0], [row[place] for row in grid.rows[:LOOKED_AT]]
    figures = bare_bytes([read_figure(without_remark(cell), column.unit) for cell in cells], column)
    if not any(figure is not None for figure in figures):
        return ""
    is_plain = (
        column.role in _COUNTS
        or (titles.holds_bytes(column) and any(map(_of_bytes, figures)))
        or (column.role == titles.TOKENS and "token" in title.lower() and len(re.split(r"[\s_]+", title.strip())) > 1)
        or (column.role == titles.GAUGE and titles.is_known(column) and column.gauge not in _VAGUE)
        or (column.gauge == "size" and _beside_a_moment(grid))
    )
    return OURS if is_plain else column.role


def unread(grid: Grid, columns: Sequence[Sequence[Column]], figures: Sequence[Sequence[Sequence[Figure | None]]]) -> Iterator[str]:
    """Yield a sentence for every column that no question will read as it is."""
    for title, several, cells in zip(grid.titles, columns, figures, strict=True):
        column, found = several[0], [figure for row in cells for figure in row if figure is not None]
        if len(several) > 1 or not found:
            continue
        name = title.strip()
        if not titles.is_known(column):
            like = titles.nearest(name)
            yield f"column {name!r} is kept under its own name: no question reads it" + (f"; is it {like!r}?" if like else "")
        elif titles.holds_bytes(column) and not any(map(_of_bytes, found)):
            yield f"column {name!r}: figures without a unit are not read as bytes; write GB, GiB or bytes behind them or in the heading"


def _beside_a_moment(grid: Grid) -> bool:
    return any(titles.columns_of(title)[0].role in (titles.TIME, titles.REQUEST) for title in grid.titles)


def _of_bytes(figure: Figure | None) -> bool:
    return figure is not None and figure.observed is not None


def seconds_after(text: str) -> float | None:
    """Return the seconds of `t+0.25s` or `t+3min`; None when a text is no time after something."""
    found = _AFTER.search(text.strip())
    if found is None:
        return None
    after = found[1].replace(" ", "")
    return read_duration(re.sub(r"(?:min)$", "m0s", re.sub(r"sec$", "s", after))) if after[-1].isalpha() else float(after)


def times_across(titles: Sequence[str]) -> dict[int, float]:
    """Return the columns that are times after an event, with their seconds; {} unless there are at least two."""
    found = {place: seconds for place, title in enumerate(titles) if (seconds := seconds_after(title)) is not None}
    return found if len(found) > 1 else {}


def turned(grid: Grid) -> Grid | None:
    """Return a grid with its rows and columns exchanged, if its first column holds headings and its headings do not; None when it is the right way round.

    A row of it has the place of its own heading.
    """
    heads, names = [undressed(title) for title in grid.titles], [undressed(row[0]) for row in grid.rows]
    if len(heads) < 2 or not names or times_across(heads):
        return None
    known = [titles.is_name(name) for name in names]
    turns = [_TURN.match(head) for head in heads[1:]]
    across = all(turns) or not any(titles.is_name(head) for head in heads[1:])
    roles = {titles.columns_of(name)[0].role for name, is_known in zip(names, known, strict=True) if is_known} - {titles.GAUGE}
    if not across or 2 * sum(known) < len(known) or not (all(turns) or roles - {titles.REQUEST}):
        return None
    first = "request" if all(turns) else "arm"
    firsts = [found[1] if found is not None else head for found, head in zip(turns, heads[1:], strict=True)]
    whole = Grid(grid.shape, [first, *names], odd=grid.odd, comments=grid.comments)
    whole.rows = [[head, *(row[place] for row in grid.rows)] for place, head in enumerate(firsts, 1)]
    whole.places = [grid.places[0]] * len(whole.rows)
    return whole
