"""A row a request as text, while a run goes on or after it: what was matched and cached, and who holds how many bytes.

All bytes of one table are in one unit, which its header names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kvlab.events import BytesRead, Event, Matched, RequestClosed
from kvlab.recording import Recording
from kvlab.units import GIB, KIB, MIB

COUNTS = ("request", "matched", "cached", "left", "nodes")
BYTES = ("counted", "retained", "active")
_WIDTH = 9


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a table's bytes."""

    name: str
    size: int

    def shown(self, value: object) -> str:
        """Return bytes in this unit; `-` when they were not read."""
        if not isinstance(value, int | float):
            return "-"
        return f"{value / self.size:.0f}" if self.size == 1 else f"{value / self.size:.1f}"


def unit_for(largest: float) -> Unit:
    """Return the unit in which figures up to `largest` bytes read well."""
    for name, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if largest >= 32 * size:
            return Unit(name, size)
    return Unit("B", 1)


def header(unit: Unit) -> str:
    """Return the titles, the bytes with their unit."""
    return "".join(f"{name:>{_WIDTH}}" for name in COUNTS) + "".join(f"{f'{name} {unit.name}':>{_WIDTH + 6}}" for name in BYTES)


def line(row: Mapping[str, Any], unit: Unit) -> str:
    """Return one request's row, from a row of `Recording.requests` or the like."""
    counts = "".join(f"{'-' if row.get(name) is None else row[name]:>{_WIDTH}}" for name in COUNTS)
    return counts + "".join(f"{unit.shown(row.get(name)):>{_WIDTH + 6}}" for name in BYTES)


def table(recording: Recording) -> str:
    """Return all rows of a recording under their header."""
    largest = recording.requests.get_column("retained").max()
    unit = unit_for(largest if isinstance(largest, int) else 0)
    return "\n".join([header(unit), *(line(row, unit) for row in recording.requests.iter_rows(named=True))])


class RowsAsTheyCome:
    """Writes a row when a request closes; give `see` to a run as `each`.

    The reading at a request's close may come before or after the event that closes it; the row waits for both.
    """

    def __init__(self, unit: Unit, write: Callable[[str], None] = print) -> None:
        self._unit = unit
        self._write = write
        self._row: dict[str, Any] = {}
        write(header(unit))

    def see(self, event: Event) -> None:
        """Take one event of the run."""
        if isinstance(event, Matched):
            self._row = {"request": event.request, "matched": event.matched, "cached": event.cached, "left": event.left}
        elif isinstance(event, BytesRead) and event.phase == "close" and event.source != "twin":
            retained = event.weights + event.live + event.snapshots
            self._row |= {"nodes": event.nodes, "counted": event.counted, "retained": retained, "active": event.active}
        elif isinstance(event, RequestClosed):
            self._row |= {"closed": True}
        if "closed" in self._row and "nodes" in self._row:
            self._write(line(self._row, self._unit))
            self._row = {}
