"""Finding: the answer to one question, with its numbers, the rows it used and what would refute it. Findings: those of one recording. Plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.units import binary
from kvlab.visible_text import visible

Confidence = Literal["high", "medium", "low"]

OPEN = "not_enough_data"
"""The verdict of a question that could not be answered."""

Number = int | float | str | list[int] | None
"""A value of `Finding.numbers`. The unit is in its name: `_bytes`, `_bytes_per_request`, `_tokens`, `_request` (a request's number)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows of a recording's table that a finding was made from, with the columns that matter."""

    table: str
    rows: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON holds it."""
        return {"table": self.table, "rows": [dict(row) for row in self.rows]}


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question.

    Attributes:
        question: The question's name, such as `budget_or_leak`.
        verdict: One of the question's verdict words, or `not_enough_data`.
        summary: The answer in one or two sentences, every figure with its unit.
        numbers: The figures behind it; the unit is in the name.
        confidence: `high`, `medium` or `low`, by how much was recorded.
        evidence: The rows it used.
        refuted_by: What one would have to see for the verdict to be wrong.
        missing: What a question that was not answered lacks, by the names of `kvlab.findings.missing.GAPS`.
    """

    question: str
    verdict: str
    summary: str
    numbers: dict[str, Number]
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    refuted_by: str
    missing: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the question could not be answered."""
        return self.verdict == OPEN

    def with_figures(self, numbers: dict[str, Number], *evidence: Evidence) -> Finding:
        """Return the finding with other numbers and evidence."""
        return replace(self, numbers=numbers, evidence=evidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON holds it."""
        return {
            "question": self.question,
            "verdict": self.verdict,
            "summary": self.summary,
            "numbers": dict(self.numbers),
            "confidence": self.confidence,
            "evidence": [item.to_dict() for item in self.evidence],
            "refuted_by": self.refuted_by,
            "missing": list(self.missing),
        }

    def text(self, *, figures: bool = False) -> str:
        """Return the finding as text; with `figures`, its numbers too, a line each."""
        width = max((len(name) for name in self.numbers), default=0)
        numbers = [f"    {name:<{width}}  {number_words(name, value)}" for name, value in self.numbers.items()] if figures else []
        head = f"{self.question}: {self.verdict} (confidence {self.confidence})"
        return visible("\n".join([head, f"  {self.summary}", *numbers, f"  refuted by: {self.refuted_by}"]))

    def __str__(self) -> str:
        return self.text()


def number_words(name: str, value: Any) -> str:
    """Return a figure with its unit: `_bytes` in its name means bytes, a whole number gets separators; `-` when it is not known."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(number_words(name, item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if "bytes" in name.split("_"):
        return binary(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


@dataclass(frozen=True, slots=True)
class Findings(Rich):
    """The answers to every question about one recording, the gravest first; `warnings` says why they may not hold for the whole run."""

    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()

    def about(self, question: str) -> Finding:
        """Return the answer to one question.

        Raises:
            BadValue: there is no such question.
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
        """Return the findings as text, what cannot be answered at the end, a line each; with `figures`, their numbers too."""
        answered = [finding for finding in self.findings if not finding.is_open or finding.numbers]
        still_open = [finding for finding in self.findings if finding.is_open and not finding.numbers]
        lines = ["not answered by this recording (not_enough_data):", *(f"  {one.question}: {one.summary}" for one in still_open)]
        warnings = ["\n".join(f"warning: {words}" for words in self.warnings)] if self.warnings else []
        parts = [*warnings, *(finding.text(figures=figures) for finding in answered)]
        return visible("\n\n".join([*parts, *(["\n".join(lines)] if still_open else [])]))

    def __str__(self) -> str:
        return self.text()
