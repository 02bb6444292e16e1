"""Where readers of formats write, and the lines that name the moment of what follows."""

from __future__ import annotations

import re

from kvlab.importers.rows import Rows

SEPARATOR = re.compile(r"[\s=#*\-]*(?:(?:date|time|ts|at):?\s*)?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?[\s=#*\-]*")


class Output:
    """Where a section writes, and the moment it writes about.

    Attributes:
        rows: The rows.
        at: The moment as it was found; "" before one is named.
        model: The first model that was named.
    """

    __slots__ = ("at", "model", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at = ""
        self.model = ""

    def figure(self, gauge: str, count: int, *, unit: str, step: int | None, label: str = "", pid: int | None = None) -> None:
        """Write observed bytes; `step` is the bytes between this print and the next one that differs."""
        self.rows.add("observed", gauge, label[:200], count, None, None, unit, step, pid, self.at)

    def number(self, gauge: str, number: float, *, unit: str = "", label: str = "") -> None:
        """Write an observed figure that is not bytes."""
        self.rows.add("observed", gauge, label[:200], None, number, None, unit, None, None, self.at)

    def words(self, gauge: str, words: str, *, label: str = "") -> None:
        """Write what was observed in words."""
        self.rows.add("observed", gauge, label[:200], None, None, words[:120], "", None, None, self.at)
