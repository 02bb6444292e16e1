"""Conformance: do the caches of every mlx-lm architecture do what a prefix cache needs? The published table, made on tiny random nets.

Cached equals cold, copies branch apart, trimmed caches forget, snapshots through kvlab's stores restore bit for bit, and every part of a cache matters.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput
from kvlab.recording import computer
from kvlab.views import text_table

FILE = "conformance.json"
"""The published table, in `data/`."""

OK = "ok"
CACHED = ("prefix", "chunks", "single")
"""The checks whose result is a figure that may differ in its last digits from one machine to the next."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A conformance table: the versions and sizes it was made with, and a row an architecture."""

    made_with: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def passed(self) -> int:
        """Architectures that conform."""
        return sum(row["result"] == OK for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        return {"name": "conformance", "made_with": self.made_with, "conform": self.passed, "rows": list(self.rows)}

    def __str__(self) -> str:
        titles = ("architecture", "caches", "conforms", "cached-cold")
        cells = [(row["architecture"], row.get("caches"), verdict_of(row), largest_difference(row)) for row in self.rows]
        parts = [text_table.columns(titles, cells, left=(0, 1, 2)), *failing(self)]
        versions = [f"{key} {self.made_with.get(key)} (here {computer.version_of(name)})" for key, name in (("mlx", "mlx"), ("mlx_lm", "mlx-lm"))]
        return "\n\n".join([*parts, f"{self.passed} of {len(self.rows)} architectures conform; made with {', '.join(versions)}"])


def published(only: Iterable[str] = ()) -> Table:
    """Return the table that is shipped, of all architectures or those in `only`.

    Raises:
        BadValue: there is no architecture of that name.
        NotAvailable: this installation has no table.
        UnreadableInput: it cannot be read.
    """
    path = shipped.data(FILE)
    try:
        held = json.loads(path.read_text())
        rows = {row["architecture"]: row for row in held.pop("rows")}
    except (ValueError, KeyError) as error:
        raise UnreadableInput(f"{path} is no conformance table", str(error), "install kvlab again") from error
    return Table(held, tuple(rows[name] for name in wanted(only, rows)))


def wanted(only: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the architectures of `known` that are in `only`, or all when it is empty.

    Raises:
        BadValue: there is no architecture of that name.
    """
    names, chosen = list(known), set(only)
    for name in sorted(chosen.difference(names)):
        near = difflib.get_close_matches(name, names, n=1)
        raise BadValue(
            what=f"there is no architecture {name!r}",
            why=f"there are {len(names)}, named as mlx-lm names its modules",
            hint=f"did you mean {near[0]}?" if near else f"for example {', '.join(names[:3])}",
        )
    return [name for name in names if not chosen or name in chosen]


def verdict_of(row: Row) -> str:
    """Return whether an architecture conforms, in a word."""
    return OK if row["result"] == OK else "fails"


def largest_difference(row: Row) -> str | None:
    """Return the largest difference between cached and cold, as a share of the largest logit; None when none was measured."""
    figures = [row[name] for name in CACHED if isinstance(row.get(name), float)]
    return f"{max(figures):.0e}" if figures else None


def failing(table: Table) -> list[str]:
    """Return a paragraph on what does not conform, with the reasons that are known; empty when all does."""
    lines = [f"  {row['architecture']}: {row['result']}" + (f"\n    {row['why']}" if "why" in row else "") for row in table.rows if row["result"] != OK]
    return ["\n".join(["does not conform:", *lines])] if lines else []
