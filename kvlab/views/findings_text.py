"""Findings as text: each with its verdict, its figures and what would refute it."""

from __future__ import annotations

from typing import Any

from kvlab.diagnose import Finding, Findings
from kvlab.units import binary


def number_words(name: str, value: Any) -> str:
    """Return a figure with its unit: `_bytes` in its name means bytes, a whole number gets separators."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(number_words(name, item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if "bytes" in name.split("_"):
        return binary(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def finding_text(finding: Finding) -> str:
    """Return one finding as text."""
    lines = [f"{finding.question}: {finding.verdict} ({finding.confidence} confidence)", f"  {finding.summary}"]
    width = max((len(name) for name in finding.numbers), default=0)
    lines += [f"    {name:<{width}}  {number_words(name, value)}" for name, value in finding.numbers.items()]
    return "\n".join([*lines, f"  refuted by: {finding.refuted_by}"] if finding.refuted_by else lines)


def findings_text(findings: Findings) -> str:
    """Return all findings as text."""
    return "\n\n".join(finding_text(finding) for finding in findings.findings) or "no findings"
