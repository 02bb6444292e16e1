"""Findings as text: each with its verdict, its figures and what would refute it."""

from __future__ import annotations

from typing import Any

from kvlab.units import binary
from kvlab.views.tables import FindingLike, FindingsLike


def number_words(name: str, value: Any) -> str:
    """Return a figure with its unit: `bytes` in its name means bytes, a whole number gets separators."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name == "bytes" or name.endswith("_bytes") or "_bytes_" in name:
        return binary(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def finding_text(finding: FindingLike) -> str:
    """Return one finding as text."""
    lines = [f"{finding.question}: {finding.verdict} ({finding.confidence} confidence)", f"  {finding.summary}"]
    width = max((len(name) for name in finding.numbers), default=0)
    lines += [f"    {name:<{width}}  {number_words(name, value)}" for name, value in finding.numbers.items()]
    return "\n".join([*lines, f"  refuted by: {finding.refuted_by}"] if finding.refuted_by else lines)


def findings_text(findings: FindingsLike) -> str:
    """Return all findings as text."""
    return "\n\n".join(finding_text(finding) for finding in findings.findings) or "no findings"
