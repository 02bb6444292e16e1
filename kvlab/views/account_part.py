"""What became of the figures of a text, over the text: those that were taken are marked, and a pointer over one says as what, or why it was left."""

from __future__ import annotations

from html import escape
from itertools import islice

from kvlab.importers.account import Account, Figure

MOST_LINES = 400
"""Lines that are shown."""

LONGEST = 400
"""Letters of a line that are shown."""


def account_part(account: Account) -> str:
    """Return the text of an import as HTML; "" when nothing was accounted for."""
    lines = [_line(text[:LONGEST], figures) for _, text, figures in islice(account.lines(), MOST_LINES)]
    if not lines:
        return ""
    found = account.figures()
    taken = sum(bool(one.taken) for one in found)
    said = f"Figures of the text: {taken:,} taken (marked), {len(found) - taken:,} left (dotted); point at one to read as what, or why"
    return f"<details><summary>{said}</summary><pre style='overflow-x:auto'>{'<br>'.join(lines)}</pre></details>"


def _line(text: str, figures: list[Figure]) -> str:
    parts: list[str] = []
    at = 0
    for one in figures:
        end = one.start + len(one.text)
        if one.start < at or end > len(text):
            continue
        shown = escape(text[one.start : end])
        if one.taken:
            mark = f'<mark title="taken as {escape(one.taken)}">{shown}</mark>'
        else:
            mark = f'<span style="text-decoration:underline dotted" title="left: {escape(one.why)}">{shown}</span>'
        parts += [escape(text[at : one.start]), mark]
        at = end
    return "".join([*parts, escape(text[at:])])
