"""Whether a table is one of figures that are asked about here, and which of its columns no question reads: both are told, neither is passed over in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvlab.importers import table_titles as titles
from kvlab.importers.figures import Figure, read_figure, without_remark
from kvlab.importers.table_own import is_own
from kvlab.importers.table_shapes import Grid
from kvlab.importers.table_titles import Column
from kvlab.importers.table_turned import times_across, turned
from kvlab.importers.table_units import bare_bytes

LOOKED_AT = 200
"""Rows by which a table is recognised."""

OURS = "ours"

_COUNTS = frozenset({titles.MATCHED, titles.CACHED, titles.TTFT, titles.GENERATED})
_VAGUE = frozenset({"total", "tokens", "n", "nodes", "pressure", "processor", "free", "wired", "active", "physical", "delta", "size", "app", "clean", "dirty"})


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
    """Yield a sentence for every column that no question will read as it stands."""
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
