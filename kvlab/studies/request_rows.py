"""A row a request as text, while a run goes on or after it: what was matched and cached, and who holds how many bytes.

All bytes of one table are in one unit, which its header names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from kvlab.events import BytesRead, Event, Matched, RequestClosed
from kvlab.recording import Recording
from kvlab.recording.readings import PREDICTED
from kvlab.units import Unit, unit_for
from kvlab.views import text_table

COUNTS = ("request", "matched", "cached", "left", "nodes")
BYTES = ("counted", "retained", "active")
_COUNTS_WIDTH, _BYTES_WIDTH = 7, 13
"""Characters of a column: rows are printed while the run goes on, so their widths are fixed."""


def table(recording: Recording, most: int | None = None) -> str:
    """Return the rows of a recording under their header; with `most`, of a longer one the first and the last, with how many are left out between."""
    rows = recording.requests
    largest = rows.get_column("retained").max()
    unit = unit_for(largest if isinstance(largest, int) else 0)
    cut = rows if most is None or rows.height <= most else pl.concat([rows.head(most // 2), rows.tail(most // 2)])
    text = text_table.columns(_titles(unit), (_cells(row, unit) for row in cut.iter_rows(named=True)), left=())
    if cut.height == rows.height:
        return text
    lines = text.splitlines()
    # one line is the header
    return "\n".join([*lines[: 1 + cut.height // 2], f"... {rows.height - cut.height:,} requests ...", *lines[1 + cut.height // 2 :]])


def _titles(unit: Unit) -> list[str]:
    return [name.rjust(_COUNTS_WIDTH) for name in COUNTS] + [f"{name} {unit.name}".rjust(_BYTES_WIDTH) for name in BYTES]


def _cells(row: Mapping[str, Any], unit: Unit) -> list[object]:
    return [*(row.get(name) for name in COUNTS), *(unit.shown(row.get(name), decimals=1) for name in BYTES)]


class RowsAsTheyCome:
    """Writes a row when a request closes; give `see` to a run as `each`.

    The reading at a request's close may come before or after the event that closes it; the row waits for both.
    """

    def __init__(self, unit: Unit, write: Callable[[str], None] = print) -> None:
        self._unit = unit
        self._write = write
        self._row: dict[str, Any] = {}
        write(text_table.columns(_titles(unit), (), left=()))

    def see(self, event: Event) -> None:
        """Take one event of the run."""
        if isinstance(event, Matched):
            self._row = {"request": event.request, "matched": event.matched, "cached": event.cached, "left": event.left}
        elif isinstance(event, BytesRead) and event.phase == "close" and event.source != PREDICTED:
            retained = event.weights + event.live + event.snapshots
            self._row |= {"nodes": event.nodes, "counted": event.counted, "retained": retained, "active": event.active}
        elif isinstance(event, RequestClosed):
            self._row |= {"closed": True}
        if "closed" in self._row and "nodes" in self._row:
            _, line = text_table.columns(_titles(self._unit), [_cells(self._row, self._unit)], left=()).splitlines()
            self._write(line)
            self._row = {}
