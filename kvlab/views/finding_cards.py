"""Findings as cards: what a notebook shows of `kvlab.diagnose(recording)`, as in a report. HTML that is still: no script, no link.

Invariants: every text that came from a recording is escaped; the colours are those of the notebook's theme, and no meaning hangs on them.
"""

from __future__ import annotations

from html import escape

from kvlab.findings import Finding, Findings
from kvlab.findings.finding import number_words
from kvlab.views.text_table import many

CARD = (
    "border-left:4px solid {edge};background:var(--jp-layout-color2,rgba(128,128,128,0.12));border-radius:4px;"
    "padding:6px 12px;margin:6px 0;max-width:62rem;text-align:left;overflow-wrap:anywhere"
)
ANSWERED, OPEN = "#0072b2", "#767676"


def cards_html(findings: Findings) -> str:
    """Return findings as HTML: a card for each that is answered, the first with its figures unfolded; the others in one folded list."""
    answered = [one for one in findings.findings if not one.is_open or one.numbers]
    still_open = [one for one in findings.findings if one.is_open and not one.numbers]
    warnings = "".join(f'<div style="{CARD.format(edge=OPEN)}"><b>warning</b>: {escape(words)}</div>' for words in findings.warnings)
    cards = "".join(_card(one, unfolded=place == 0) for place, one in enumerate(answered))
    items = "".join(f"<li>{escape(one.question)}: {escape(one.summary)}</li>" for one in still_open)
    rest = f"<details><summary>Not answered by this recording: {len(still_open)}</summary><ul>{items}</ul></details>" if still_open else ""
    return f"<div>{warnings}{cards}{rest}</div>"


def known_figures(finding: Finding) -> list[tuple[str, str]]:
    """Return the names of a finding's figures with their words, without what is not known."""
    return [(name, number_words(name, value)) for name, value in finding.numbers.items() if value not in (None, "", [])]


def _card(finding: Finding, *, unfolded: bool) -> str:
    known = known_figures(finding)
    rows = "".join(f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:left">{escape(words)}</td></tr>' for name, words in known)
    figures = f"<details{' open' if unfolded else ''}><summary>{many(len(known), 'figure')}</summary><table>{rows}</table></details>" if known else ""
    refuted = f'<div style="opacity:0.75">Refuted by: {escape(finding.refuted_by)}</div>' if finding.refuted_by else ""
    return (
        f'<div style="{CARD.format(edge=OPEN if finding.is_open else ANSWERED)}"><b>{escape(finding.question)}: {escape(finding.verdict)}</b> '
        f"(confidence {escape(finding.confidence)})<br>{escape(finding.summary)}{figures}{refuted}</div>"
    )
