"""The checklist as a section of the report. Invariant: every text that came from a recording or a note is escaped here."""

from __future__ import annotations

from html import escape

from kvlab.diagnose.checklist import DECISIONS, Checklist


def checklist_part(checklist: Checklist | None) -> str:
    """Return the section; "" when there is no checklist."""
    if checklist is None:
        return ""
    rows = "".join(
        f'<tr><td>{"known" if words else "missing"}</td><td class="words">{escape(item.asks)}</td>'
        f'<td class="words">{escape(words) if words else f"<code>{escape(item.fill)}</code>"}</td></tr>'
        for item, words in checklist
    )
    count = len(checklist.missing)
    return (
        '<h2>Checklist</h2><p class="quiet">What has to be known before a server is said to give its bytes back, or not to. '
        f"{count} item{'' if count == 1 else 's'} missing; each names what fills it.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Checklist"><table><thead><tr><th scope="col"></th><th scope="col" class="words">item</th>'
        f'<th scope="col" class="words">what is known, or the command that fills it</th></tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p><span class="verdict">{escape(DECISIONS[checklist.decision])}</span>: {escape(checklist.reason)}</p>'
    )
