"""Findings: all answers about one recording, as cards in a notebook, as text in a terminal, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvlab.diagnose.finding import Finding
from kvlab.display import Rich
from kvlab.errors import BadValue


@dataclass(frozen=True, slots=True)
class Findings(Rich):
    """The answers to every question about one recording, the most asked first; `warnings` says why they may not hold for the whole run."""

    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()

    def about(self, question: str) -> Finding:
        """Return the answer to one question.

        Raises:
            BadValue: no such question was asked.
        """
        for finding in self.findings:
            if finding.question == question:
                return finding
        raise BadValue(
            what=f"there is no finding about {question!r}",
            why=f"the questions are {', '.join(finding.question for finding in self.findings)}",
            hint="correct the name",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON holds them."""
        return {"warnings": list(self.warnings), "findings": [finding.to_dict() for finding in self.findings]}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def text(self, *, figures: bool = False) -> str:
        """Return the findings as text; with `figures`, their numbers too."""
        return "\n\n".join([*(f"warning: {words}" for words in self.warnings), *(finding.text(figures=figures) for finding in self.findings)])

    def __str__(self) -> str:
        return self.text()
