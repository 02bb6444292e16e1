"""Rows and their score: a published figure, ours, their difference and the verdict, and how many predicted figures come out.

`exact`: ours, printed as the source prints, is the same. `within`: it is not further off than the row's tolerance, whose reason is given.
`unexplained`: neither, or nothing of ours explains the figure; a row that is expected to stay unexplained does, however near ours is.

A row is in the score when no published figure of its report went into ours, or when ours was held out of the fit that used them. A figure of ours that
several rows show is counted once.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.studies.reproduce.published import BY_CONSTRUCTION, FITTED, GIVEN, PREDICTED, VERDICTS, Figure, Published

AGAIN = "shown again"
"""The group of rows whose figure of ours is another row's too."""

GROUPS = (FITTED, GIVEN, BY_CONSTRUCTION, AGAIN)
"""The groups of rows that are not in the score, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Row:
    """A published figure and ours.

    Attributes:
        experiment: The experiment's name.
        source: Where it was published.
        figure: What was published.
        ours: What kvlab finds, in the same unit; None when it has no such figure.
        verdict: exact, within or unexplained.
    """

    experiment: str
    source: str
    figure: Figure
    ours: float | None
    verdict: str

    @property
    def name(self) -> str:
        """The experiment and the figure's id."""
        return f"{self.experiment} {self.figure.id}"

    @property
    def agrees(self) -> bool:
        """Whether the verdict is at least what is expected."""
        return VERDICTS.index(self.verdict) <= VERDICTS.index(self.figure.expected)

    @property
    def difference(self) -> float | None:
        """Ours less what was published, in the unit; 0 inside a published range."""
        return None if self.ours is None else self.ours - min(max(self.ours, self.figure.low), self.figure.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        figure = self.figure
        return {
            "experiment": self.experiment,
            "source": self.source,
            "id": figure.id,
            "figure": figure.figure,
            "unit": figure.unit,
            "compared": figure.compared,
            "published": figure.low if figure.low == figure.high else [figure.low, figure.high],
            "ours": self.ours,
            "difference": self.difference,
            "verdict": self.verdict,
            "expected": figure.expected,
            "proof": figure.proof,
            "fit": dataclasses.asdict(figure.fit) if figure.fit else None,
            "because": figure.because,
            "same_as": figure.same_as or None,
            "agrees": self.agrees,
            "tolerance": figure.tolerance,
            "reason": figure.reason,
            "note": figure.note,
        }


def judge(published: Published, figure: Figure, ours: float | None) -> Row:
    """Return the row of one figure."""
    return Row(published.name, published.source, figure, ours, _verdict(figure, ours))


def _verdict(figure: Figure, ours: float | None) -> str:
    if ours is None or figure.expected == "unexplained":
        return "unexplained"
    if figure.low == figure.high and figure.shown(ours) == figure.shown(figure.low):
        return "exact"
    seen = float(figure.shown(ours)) if figure.cut else ours
    if figure.tolerance is not None and figure.low - figure.tolerance <= seen <= figure.high + figure.tolerance:
        return "within"
    return "unexplained"


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
