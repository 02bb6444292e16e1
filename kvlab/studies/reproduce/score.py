"""The score of a reproduction: how many predicted figures come out, and which rows are not in it.

A row is in the score when no published figure of its report went into ours, or when ours was held out of the fit that used them. A figure of ours that
several rows show is counted once.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.studies.reproduce.published import BY_CONSTRUCTION, FITTED, GIVEN, PREDICTED, VERDICTS
from kvlab.studies.reproduce.row import Row

AGAIN = "shown again"
"""What a row is called whose figure of ours is another row's too."""

GROUPS = (FITTED, GIVEN, BY_CONSTRUCTION, AGAIN)
"""The groups of rows that are not in the score, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Score:
    """The rows of a reproduction, by what they prove.

    Attributes:
        rows: All rows.
    """

    rows: tuple[Row, ...]

    @property
    def predicted(self) -> tuple[Row, ...]:
        """The rows in the score."""
        return tuple(row for row in self.rows if row.figure.proof == PREDICTED and not row.figure.same_as)

    @property
    def held_out(self) -> tuple[Row, ...]:
        """Those of them for which a fit used other figures of their report."""
        return tuple(row for row in self.predicted if row.figure.fit)

    def outside(self, group: str) -> tuple[Row, ...]:
        """Return the rows of one of `GROUPS`."""
        return tuple(row for row in self.rows if group == (AGAIN if row.figure.same_as else row.figure.proof))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON holds them."""
        return {
            "predicted": _counts(self.predicted),
            "held_out": _counts(self.held_out),
            "without_ours": sum(row.ours is None for row in self.predicted),
            "not_in_it": {group: [row.name for row in self.outside(group)] for group in GROUPS},
        }

    @property
    def head(self) -> str:
        """The score: a line for all predicted figures, and one for those with and those without a figure of their report in a fit."""
        absent = sum(row.ours is None for row in self.predicted)
        without = f" ({absent} of them without a figure of ours)" if absent else ""
        lines = [f"Score: of {len(self.predicted)} predicted figures, {_counted(self.predicted)}{without}"]
        if self.held_out:
            alone = tuple(row for row in self.predicted if not row.figure.fit)
            lines.append(f"  no published figure of their report went in: {len(alone)} ({_counted(alone)})")
            lines.append(f"  held out of a fit on other figures of their report: {len(self.held_out)} ({_counted(self.held_out)})")
        return "\n".join(lines)

    def text(self, width: int) -> str:
        """Return the score, then the rows that are not in it, in lines of at most `width` characters."""
        lines = [self.head]
        for group in GROUPS:
            if found := self.outside(group):
                words = f"Not in it, {group}: {len(found)} ({_counted(found)}): {', '.join(_by_experiment(found))}"
                lines.append(textwrap.fill(words, width, subsequent_indent="  "))
        return "\n".join(lines)


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    return {"rows": len(rows)} | {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


def _counted(rows: Sequence[Row]) -> str:
    counts = _counts(rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)


def _by_experiment(rows: Sequence[Row]) -> list[str]:
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(row.experiment, []).append(row.figure.id)
    return [f"{experiment} ({', '.join(ids)})" for experiment, ids in names.items()]
