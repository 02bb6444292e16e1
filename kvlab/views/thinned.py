"""A page's dataset with fewer moments to stop at: what a report of a very long run holds, so that its size is bounded.

The last moments stay whole, before them only the end of every n-th request and where it went wrong. Invariant: what is drawn at a
moment that stayed is what was drawn there before, also the phases and captures of its request: versions of nodes and snapshots that no such moment shows go,
and of readings, marks, ranks and buffers those that none of them needs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.views.dashboard.tables import MARKS

WHOLE = 6000
"""So many moments at the end stay whole, from the beginning of a request on where one begins among them."""

ENDS = 1500
"""Of the requests before them at most about so many ends stay."""

TROUBLES = ("wrong_positions", "violation", "warned")
"""Kinds of events that stay wherever they are, up to `ENDS` of them."""

VERSIONS = ("nodes", "spans")
LAST_OF: Mapping[str, tuple[str, ...]] = {"readings": (), "predicted": (), "ranks": ("node",), "buffers": ("group",), "moves": ("owner",), "marks": ()}
"""Tables of which a page reads the last row up to a moment, and the columns by which it finds it; see `_keys`."""

LISTED = frozenset({MARKS.index("scheduled"), MARKS.index("captured")})
"""Marks of which a page shows all that a request had, not the last one only."""

MOVED = MARKS.index("frontier_moved")

Columns = Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Thinned:
    """A dataset and what was left out of it.

    Attributes:
        data: The dataset, as `Dataset.whole` gives one.
        words: What was left out, in a sentence; "" when all is there.
    """

    data: dict[str, Any]
    words: str = ""


def thinned(data: dict[str, Any]) -> Thinned:
    """Return a dataset of at most about `WHOLE` + 2 * `ENDS` moments."""
    tables: dict[str, Columns] = data.get("add", {})
    events = tables.get("events", {"seq": []})
    count = len(events["seq"])
    if count <= WHOLE + 2 * ENDS:
        return Thinned(data)
    start = _start(events)
    ends = _ends(events, start)
    every = -(-len(ends) // ENDS)
    stops = sorted(
        {0, *ends[::-1][::every], *_troubles(events, data["kinds"], start), *_over_budget(events, tables.get("readings"), start), *range(start, count)}
    )
    seqs = [events["seq"][place] for place in stops]
    of = {events["request"][place] for place in stops}
    begun = events["seq"][start], events["request"][start]
    add = {name: _kept(name, columns, seqs, begun, of) for name, columns in tables.items()}
    add["events"] = {name: [values[place] for place in stops] for name, values in events.items()}
    requests = [row for row in data["requests"] if row["request"] in of]
    first = begun[1]
    since = f"from request {first:,} on" if events["request"][start - 1] != first else f"at the last {WHOLE:,} of request {first:,}"
    before = "the end of every request" if every == 1 else f"the end of one request in {every}"
    words = f"So that the file stays small it can be stopped at {len(stops):,} of {count:,} moments: at all {since}, before it at {before}."
    return Thinned(data | {"add": add, "requests": requests}, words)


def _start(events: Columns) -> int:
    """Return the first of the moments that stay whole: where a request begins; if none begins among the last ones, the first of these."""
    of = events["request"]
    first = len(of) - WHOLE
    return next((place for place in range(first, len(of)) if of[place] != of[place - 1]), first)


def _ends(events: Columns, start: int) -> list[int]:
    of = events["request"]
    return [place for place in range(start) if of[place] != of[place + 1]]


def _troubles(events: Columns, kinds: Sequence[str], start: int) -> list[int]:
    codes = {kinds.index(kind) for kind in TROUBLES if kind in kinds}
    return [place for place in range(start) if events["kind"][place] in codes][:ENDS]


def _over_budget(events: Columns, readings: Columns | None, start: int) -> list[int]:
    """Return the first moment at which more was counted than the budget allows; it is one to go to."""
    if readings is None:
        return []
    over = (seq for seq, counted, budget in zip(readings["seq"], readings["counted"], readings["budget"], strict=True) if 0 < budget < counted)
    place = bisect_left(events["seq"], next(over, events["seq"][-1]))
    return [place] if place < start else []


def _kept(name: str, columns: Columns, seqs: list[int], start: tuple[int, int], of: set[int]) -> Columns:
    """Return what stays of a table; `start` is the seq and the request with which the moments begin that stay whole."""
    if name == "events" or not columns:
        return columns
    if name in VERSIONS:
        return _chosen(columns, lambda row: _shown(seqs, columns["born"][row], columns["died"][row]))
    whole, running = start
    if name not in LAST_OF:
        # the texts of the request before the moments that stay whole is searched in these
        spoken = name in ("texts", "tokens")
        return _chosen(columns, lambda row: columns["seq"][row] >= whole or name == "wrong" or (spoken and columns["request"][row] == running))
    following: dict[Hashable, int] = {}
    rows: list[int] = []
    for row in range(len(columns["seq"]) - 1, -1, -1):
        seq, keys = columns["seq"][row], _keys(name, columns, row, of)
        if seq >= whole or any(_shown(seqs, seq, following.get(key, -1)) for key in keys):
            rows.append(row)
        for key in keys:
            following[key] = seq
    return _taken(columns, rows[::-1])


def _keys(name: str, columns: Columns, row: int, of: set[int]) -> list[Hashable]:
    """Return by what a page finds a row: the next row with the same key hides it from there on."""
    if name == "marks":
        what, request = columns["what"][row], columns["request"][row]
        # a mark counts only within its own request, but for those that move the frontier
        return [what] if what == MOVED else [(request, what, row if what in LISTED else -1)] if request in of else []
    keys: list[Hashable] = [tuple(columns[key][row] for key in LAST_OF[name])]
    if name == "readings" and columns["request"][row] in of:
        # they also say when the phases of a request ended
        keys.append((columns["request"][row], columns["phase"][row]))
    return keys


def _shown(seqs: list[int], born: int, died: int) -> bool:
    """Whether a moment that stays lies in [born, died); -1 is no end."""
    place = bisect_left(seqs, born)
    return place < len(seqs) and (died == -1 or seqs[place] < died)


def _chosen(columns: Columns, keep: Callable[[int], bool]) -> Columns:
    return _taken(columns, [row for row in range(len(next(iter(columns.values())))) if keep(row)])


def _taken(columns: Columns, rows: list[int]) -> Columns:
    return {name: [values[row] for row in rows] for name, values in columns.items()}
