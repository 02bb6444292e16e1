"""One row: a published figure, ours, their difference and the verdict.

`exact`: ours, printed as the source prints, is the same. `within`: it is not further off than the row's tolerance, whose reason is told.
`unexplained`: neither, or nothing of ours explains the figure; a row that is expected to stay unexplained does, however near ours is.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from kvlab.studies.reproduce.published import VERDICTS, Figure, Published


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
