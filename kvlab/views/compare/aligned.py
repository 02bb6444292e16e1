"""Two tries side by side: which nodes they have in common, and what only one of them has.

A recording does not keep tokens, so a node is known by its place: nodes are common when they hang on common nodes and have the same
edge and came from the same request, then the same edge, then the same start and request. That is exact for two runs of one workload.
Invariants: each node of either trie has exactly one row; a common node's row stands where its parent's row is common; rows are depth first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from kvlab.recording import Moment
from kvlab.units import binary
from kvlab.views import text_table
from kvlab.views.outline_rows import OutlineRow, outline_rows

SIDES: tuple[str, ...] = ("both", "only A", "only B")


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """One line of two tries.

    Attributes:
        depth: How many ancestors it has.
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


_Tree = dict[int, list[OutlineRow]]
_Pair = tuple[OutlineRow | None, OutlineRow | None]

_KEYS: tuple[Callable[[OutlineRow], Hashable], ...] = (
    lambda row: (row.start, row.end, row.request),
    lambda row: (row.start, row.end),
    lambda row: (row.start, row.request),
)


def aligned_rows(a: Moment, b: Moment) -> list[AlignedRow]:
    """Return the rows of two moments' tries, common nodes in one row."""
    tree_a, tree_b = _tree(a), _tree(b)
    found: list[AlignedRow] = []
    stack: list[tuple[_Pair, int]] = [(pair, 0) for pair in reversed(_pairs(tree_a.get(_TOP, []), tree_b.get(_TOP, [])))]
    while stack:
        (one, other), depth = stack.pop()
        found.append(AlignedRow(depth, one, other))
        below = _pairs(tree_a.get(one.node, []) if one else [], tree_b.get(other.node, []) if other else [])
        stack += [(pair, depth + 1) for pair in reversed(below)]
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


_TOP = -1


def _tree(moment: Moment) -> _Tree:
    rows = {row.node: row for row in outline_rows(moment)}
    tree: _Tree = {}
    for node, parent in moment.nodes.select("node", "parent").iter_rows():
        tree.setdefault(parent if parent in rows and parent != node else _TOP, []).append(rows[node])
    return tree


def _pairs(a: list[OutlineRow], b: list[OutlineRow]) -> list[_Pair]:
    pairs: list[_Pair] = []
    for key in _KEYS:
        waiting: dict[Hashable, list[OutlineRow]] = {}
        for row in b:
            waiting.setdefault(key(row), []).append(row)
        pairs.extend((row, held.pop(0)) for row in a if (held := waiting.get(key(row))))
        taken_a, taken_b = {id(one) for one, _ in pairs}, {id(other) for _, other in pairs}
        a, b = [row for row in a if id(row) not in taken_a], [row for row in b if id(row) not in taken_b]
    pairs += [(row, None) for row in a]
    pairs += [(None, row) for row in b]
    return sorted(pairs, key=_order)


def _order(pair: _Pair) -> tuple[Any, ...]:
    row = pair[0] or pair[1]
    return (row.request or 0, row.start, row.end, row.node) if row else ()


def _cells(row: OutlineRow | None) -> list[object]:
    return ["", "", ""] if row is None else [row.label, binary(row.counted), row.state]


def _difference(row: AlignedRow) -> str:
    difference = (row.b.counted if row.b else 0) - (row.a.counted if row.a else 0)
    return "" if difference == 0 else ("+" if difference > 0 else "-") + binary(abs(difference))
