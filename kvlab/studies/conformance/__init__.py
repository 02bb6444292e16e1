"""Conformance: do the caches of every mlx-lm architecture do what a prefix cache needs? Asked of tiny random nets, against a published table.

Cached equals cold, copies branch apart, trimmed caches forget, snapshots through kvlab's stores restore bit for bit, and every part of a cache matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kvlab.studies.conformance import matrix, table


@dataclass(frozen=True, slots=True)
class Conformance:
    """The table made now, and the published one (None when there is none)."""

    now: table.Table
    published: table.Table | None

    @property
    def agrees(self) -> bool:
        """Whether no row differs from the published one."""
        return all(one.verdict != "differs" for one in table.compared(self.now, self.published))

    def to_dict(self) -> dict[str, Any]:
        """Return both tables and the verdicts as JSON holds them."""
        rows = [
            {"architecture": one.architecture, "published": one.published, "now": one.now, "differs": list(one.differs), "verdict": one.verdict}
            for one in table.compared(self.now, self.published)
        ]
        return {
            "name": "conformance",
            "now": self.now.made_with,
            "published": self.published.made_with if self.published else None,
            "conform": self.now.passed,
            "rows": rows,
            "agrees": self.agrees,
        }

    def __str__(self) -> str:
        return table.as_text(self.now, self.published)


def reproduce(only: Iterable[str] = (), each: Callable[[], object] = lambda: None) -> Conformance:
    """Make the table anew, of all architectures or those in `only`, and put the published one beside it. `each` is called after every row.

    Raises:
        BadValue: an architecture is unknown.
        UnreadableInput: the published table cannot be read.
    """
    before = table.published()
    return Conformance(table.of(matrix.rows(only, each)), before)
