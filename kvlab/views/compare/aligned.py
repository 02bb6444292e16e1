"""Two tries side by side: which nodes they have in common, and what only one of them has.

A node is known by what it holds: its interval and the tokens from the root to its end (`kvlab.views.compare.prefixes`), whatever its number.
A node whose tokens are unknown, such as one from before the recording, is common with none.
Invariants: each node of either trie has exactly one row; a row is below the longest prefix of its tokens that either trie has a node for;
rows are depth first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from kvlab.recording import Moment
from kvlab.units import binary
from kvlab.views import text_table
from kvlab.views.compare.prefixes import Prefixes
from kvlab.views.outline_rows import OutlineRow, outline_rows

SIDES: tuple[str, ...] = ("both", "only A", "only B")


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """One line of two tries.

    Attributes:
        depth: How many rows it is below.
        a: The node in A; None when only B has it.
        b: The node in B; None when only A has it.
    """

    depth: int
    a: OutlineRow | None
    b: OutlineRow | None

    @property
    def side(self) -> str:
        """Which of the two has it, in the words of `SIDES`."""
        return SIDES[0] if self.a and self.b else SIDES[1] if self.a else SIDES[2]

    @property
    def one(self) -> OutlineRow:
        """The node in A, else in B."""
        found = self.a or self.b
        assert found is not None, "a row has a node"  # noqa: S101  # what the invariant says
        return found


@dataclass(slots=True, eq=False)
class _Held:
    """What one row holds.

    Attributes:
        side: The first side that has it: 0 is A.
        request: A request that begins with its tokens; None when these are unknown.
        rows: The node in A and in B.
        parents: The number of its parent in A and in B.
    """

    side: int
    request: int | None
    rows: list[OutlineRow | None] = field(default_factory=lambda: [None, None])
    parents: list[int] = field(default_factory=lambda: [-1, -1])

    @property
    def one(self) -> OutlineRow:
        row = self.rows[self.side]
        assert row is not None, "it was made for this side's node"  # noqa: S101  # what the invariant says
        return row


def aligned_rows(a: Moment, b: Moment, prefixes: Prefixes) -> list[AlignedRow]:
    """Return the rows of two moments' tries, common nodes in one row."""
    held = _held((a, b), prefixes)
    below: dict[int, list[_Held]] = {}
    for one, above in _parents(held, prefixes):
        below.setdefault(id(above), []).append(one)
    found: list[AlignedRow] = []
    stack = [(one, 0) for one in sorted(below.get(id(None), []), key=_order, reverse=True)]
    while stack:
        one, depth = stack.pop()
        found.append(AlignedRow(depth, *one.rows))
        stack += [(child, depth + 1) for child in sorted(below.get(id(one), []), key=_order, reverse=True)]
    return found


def aligned_text(rows: list[AlignedRow], most: int = 60) -> str:
    """Return aligned rows as text: `=` common, `<` only in A, `>` only in B."""
    marks = dict(zip(SIDES, "=<>", strict=True))
    cells: list[list[object]] = [
        [f"{marks[row.side]} {'  ' * row.depth}[{row.one.start}, {row.one.end})", *_cells(row.a), *_cells(row.b), _difference(row)] for row in rows
    ]
    titles = ("  edge", "A", "counted", "state", "B", "counted", "state", "B - A")
    counts = ", ".join(f"{sum(row.side == side for row in rows)} {side}" for side in SIDES)
    return f"tries side by side: {counts}\n" + text_table.columns(titles, text_table.shortened(cells, most), left=(0, 3, 6))


def _held(moments: tuple[Moment, Moment], prefixes: Prefixes) -> list[_Held]:
    held: dict[Hashable, _Held] = {}
    for side, moment in enumerate(moments):
        versions = {node: (parent, born) for node, parent, born in moment.nodes.select("node", "parent", "born").iter_rows()}
        for row in outline_rows(moment):
            parent, born = versions[row.node]
            request = prefixes.runs[side].holder(row.request, row.end, born) if row.end else None
            tokens = prefixes.key(side, request, row.end) if request else (side, row.node) if row.end else ()
            key = (row.start, row.end, tokens)
            # of two nodes of one trie that hold the same (it is damaged) each has a row
            if key not in held or held[key].rows[side] is not None:
                held[key if key not in held else (*key, side, row.node)] = made = _Held(side, request)
            else:
                made = held[key]
            made.rows[side], made.parents[side] = row, -1 if parent is None or parent == row.node else parent
    return list(held.values())


def _parents(held: list[_Held], prefixes: Prefixes) -> list[tuple[_Held, _Held | None]]:
    """Return each of `held` with what it is below: what ends latest within its edge and holds a prefix of it, else its own parent."""
    own = {(side, row.node): one for one in held for side, row in enumerate(one.rows) if row is not None}
    ends = sorted({one.one.end for one in held})
    ending: dict[Hashable, _Held] = {}
    for one in held:
        if one.request:
            ending.setdefault((one.one.end, prefixes.key(one.side, one.request, one.one.end)), one)
    found: list[tuple[_Held, _Held | None]] = []
    for one in held:
        row, request = one.one, one.request
        between = ends[bisect_right(ends, row.start) : bisect_left(ends, row.end)] if request else []
        inside = (ending.get((end, prefixes.key(one.side, request, end))) for end in reversed(between) if request)
        above = next((other for other in inside if other is not None), None)
        found.append((one, above or own.get((one.side, one.parents[one.side]))))
    return found


def _order(one: _Held) -> tuple[Any, ...]:
    row = one.one
    return row.request or 0, row.start, row.end, one.side, row.node


def _cells(row: OutlineRow | None) -> list[object]:
    return ["", "", ""] if row is None else [row.label, binary(row.counted), row.state]


def _difference(row: AlignedRow) -> str:
    difference = (row.b.counted if row.b else 0) - (row.a.counted if row.a else 0)
    return "" if difference == 0 else ("+" if difference > 0 else "-") + binary(abs(difference))
