"""Findings: all answers about one recording, as cards in a notebook, as text in a terminal, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvlab.diagnose.finding import Finding
from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.visible_text import visible


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
        """Return the findings as text; with `figures`, their numbers too. What cannot be answered stands last, a line each."""
        answered = [finding for finding in self.findings if not finding.is_open or finding.numbers]
        still_open = [finding for finding in self.findings if finding.is_open and not finding.numbers]
        lines = ["not answered by this recording (not_enough_data):", *(f"  {one.question}: {one.summary}" for one in still_open)]
        warnings = ["\n".join(f"warning: {words}" for words in self.warnings)] if self.warnings else []
        parts = [*warnings, *(finding.text(figures=figures) for finding in answered)]
        return visible("\n\n".join([*parts, *(["\n".join(lines)] if still_open else [])]))

    def __str__(self) -> str:
        return self.text()
