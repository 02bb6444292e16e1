"""Lines of figures with names, `t+3min   regions=4   footprint=501M`, as a table: a column a name, and one for what stands before the first.

Lines that are one figure of bytes each are a series without a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.importers.figures import read_figure
from kvlab.importers.table_shapes import Grid

_PAIR = re.compile(r"(?P<name>[A-Za-z_][\w.\-]{0,60})\s?[=:]\s?(?P<value>\"[^\"]*\"|[^\s,;=]+(?: [KMGT]i?B\b)?)[,;]?")
_BARE = re.compile(r"\s*[~≈]?\d[\d.,]* ?[KMGT]i?B\s*")
LEAST = 2
"""Lines that make a series."""


def grid_of_pairs(lines: Sequence[str]) -> Grid | None:
    """Return lines of names with figures as a table; None when they are none."""
    if len(lines) >= LEAST and all(_BARE.fullmatch(line) for line in lines):
        return Grid("pairs", ["figures"], [[line.strip()] for line in lines], [*range(1, len(lines) + 1)], head=0)
    rows = [(line, [*_PAIR.finditer(line)]) for line in lines]
    found = [(line, pairs) for line, pairs in rows if pairs]
    if len(found) < LEAST or 2 * len(found) <= len(lines):
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
        told = {pair["name"]: pair["value"].strip('"') for pair in pairs}
        grid.rows.append(([line[: pairs[0].start()].strip()] if any(first) else []) + [told.get(name, "") for name in names])
        grid.places.append(place)
    return grid
