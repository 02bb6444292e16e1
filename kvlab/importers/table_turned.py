"""Tables whose rows and columns are the other way round: arms, turns or times across the top, and what was read in the first column."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.importers.figures import read_duration, undressed
from kvlab.importers.table_shapes import Grid
from kvlab.importers.table_titles import GAUGE, REQUEST, columns_of, is_name

_AFTER = re.compile(r"(?:^|[\s(\[])t? ?\+ ?(\d+(?:\.\d+)? ?(?:ms|s|sec|min|m|h)?)\)?\s*$")
_TURN = re.compile(r"^(?:(?:turn|req(?:uest)?|call|round|msg|iter(?:ation)?|轮|请求|anfrage|runde) ?#?)?\s*(\d{1,9})$", re.IGNORECASE)


def seconds_after(text: str) -> float | None:
    """Return the seconds of `t+0.25s` or `t+3min`; None when a text is no time after something."""
    found = _AFTER.search(text.strip())
    if found is None:
        return None
    told = found[1].replace(" ", "")
    return read_duration(re.sub(r"(?:min)$", "m0s", re.sub(r"sec$", "s", told))) if told[-1].isalpha() else float(told)


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
    known = [is_name(name) for name in names]
    turns = [_TURN.match(head) for head in heads[1:]]
    across = all(turns) or not any(is_name(head) for head in heads[1:])
    roles = {columns_of(name)[0].role for name, is_known in zip(names, known, strict=True) if is_known} - {GAUGE}
    if not across or 2 * sum(known) < len(known) or not (all(turns) or roles - {REQUEST}):
        return None
    first = "request" if all(turns) else "arm"
    firsts = [found[1] if found is not None else head for found, head in zip(turns, heads[1:], strict=True)]
    whole = Grid(grid.shape, [first, *names], odd=grid.odd, comments=grid.comments)
    whole.rows = [[head, *(row[place] for row in grid.rows)] for place, head in enumerate(firsts, 1)]
    whole.places = [grid.places[0]] * len(whole.rows)
    return whole
