from __future__ import annotations

from kvlab.findings.checklist import ITEMS, checklist
from kvlab.units import GIB
from kvlab.views.report import report_html
from kvlab.views.report_parts import checklist_part
from tests.findings.outside.seen import sizes


def test_every_item_is_a_row_and_notes_are_escaped() -> None:
    found = checklist(sizes([(1, 18 * GIB), (2, 19 * GIB)]), notes={"thresholds": "<b>1 %</b>"})
    part = checklist_part(found)
    assert part.count("<td>missing</td>") == len(found.missing)
    assert part.count("<td>known</td>") == len(ITEMS) - len(found.missing)
    assert "<b>" not in part
    assert "&lt;b&gt;1 %" in part
    assert checklist_part(None) == ""


def test_it_is_a_section_of_the_report() -> None:
    recording = sizes([(1, 18 * GIB), (2, 19 * GIB)])
    assert "<h2>Checklist</h2>" in report_html(recording, None, checklist(recording))
    assert "<h2>Checklist</h2>" not in report_html(recording)
