"""Which part of a dump differs from the one before: whole subtrees below one node that is in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

from kvlab.importers.dump_lines import Row


@dataclass(frozen=True, slots=True)
class Change:
    """Rows [first, old_end) of the old dump became rows [first, new_end) of the new one.

    Attributes:
        first: The first row that differs, or that is above one that does.
        old_end: After the last of them in the old dump.
        new_end: After the last of them in the new one.
        depth: The depth of the topmost of them.
        above: The row of the node on which these hang.
        place: How many of its children stand before them.
    """

    first: int
    old_end: int
    new_end: int
    depth: int
    above: int
    place: int


def change(old: Sequence[Row], new: Sequence[Row]) -> Change | None:
    """Return what differs between two dumps; None when nothing does. The root's own row is not looked at."""
    first = 1 + _common(old[1:], new[1:])
    if first == len(old) == len(new):
        return None
    same = _common(old[: first - 1 : -1], new[: first - 1 : -1])
    old_end, new_end = len(old) - same, len(new) - same
    depth = min([row[0] for row in old[first:old_end]] + [row[0] for row in new[first:new_end]])
    # what is deeper than the topmost row and follows it is below it
    while old_end < len(old) and old[old_end][0] > depth:
        old_end += 1
        new_end += 1
    if any(rows[first][0] > depth for rows, end in ((old, old_end), (new, new_end)) if first < end):
        first -= 1
        while old[first][0] > depth:
            first -= 1
    above, place = first - 1, 0
    while old[above][0] >= depth:
        place += old[above][0] == depth
        above -= 1
    return Change(first, old_end, new_end, depth, above, place)


def _common(old: Sequence[Row], new: Sequence[Row]) -> int:
    """Return how many rows at the beginning are equal."""
    least = min(len(old), len(new))
    # equal rows are mostly one object, and lists compare those without a look inside
    if old[:least] == new[:least]:
        return least
    return list(map(eq, old, new)).index(False)
