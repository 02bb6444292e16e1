"""The text twin of the chart of bytes: a table with a row a request."""

from __future__ import annotations

from typing import Any

from kvlab.recording import Recording
from kvlab.units import Unit, binary, unit_for
from kvlab.views import text_table
from kvlab.views.tables import largest, last_bytes, readings

OWNERS = ("counted", "predicted_counted", "snapshots", "live", "unattributed", "pool", "active")
TITLES = {"predicted_counted": "predicted"}
"""How a column is called, where it is not by its own name."""


def bytes_text(recording: Recording, most: int = 20) -> str:
    """Return the bytes at each request's end as a table of text; at most `most` rows, the middle ones left out first.

    The process's footprint is a column where it was read.
    """
    table, read = recording.requests, readings(recording)
    unit = unit_for(max(largest(table, name) for name in OWNERS if name != "active"))
    names = (*OWNERS, *(("footprint",) if largest(table, "footprint") else ()))
    rows = [_row(row, names, unit) for row in table.iter_rows(named=True)]
    head = f"bytes at each request's end, in {unit.name}; weights {binary(last_bytes(read, 'weights'))}, budget {binary(last_bytes(read, 'budget'))}"
    return head + "\n" + text_table.columns(("request", "label", *(TITLES.get(name, name) for name in names)), text_table.shortened(rows, most), left=(1,))


def _row(row: dict[str, Any], names: tuple[str, ...], unit: Unit) -> list[object]:
    return [row["request"], row["label"], *(unit.shown(row[name]) for name in names)]
