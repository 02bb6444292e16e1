"""The catalogue and one entry as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.studies.faults.arms import Shown
from kvlab.studies.faults.catalogue import CATALOGUE
from kvlab.studies.faults.fault import Fault

_WIDEST = 62


def as_text() -> str:
    """Return the catalogue as a table: a row an entry, with the choice that makes it or why there is none."""
    rows = [(fault.id, fault.status, fault.name, _versions(fault), fault.choice or "") for fault in CATALOGUE.values()]
    head = ("id", "status", "what happens", "Ollama's versions", "made by")
    widths = [min(_WIDEST, max(len(row[place]) for row in (head, *rows))) for place in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
    return "\n".join([*lines, "", "kvlab faults ID runs its trigger in both arms and shows what differs."])


def entry_text(fault: Fault, shown: Sequence[Shown]) -> str:
    """Return one entry with what was seen in both arms."""
    lines = [f"{fault.id}: {fault.name}", f"  symptom   {fault.symptom}", f"  versions  {fault.versions}"]
    if fault.layers:
        lines.append(f"  layers    {', '.join(fault.layers)}")
    if fault.issue:
        lines.append(f"  reported  {fault.issue}")
    if fault.choice:
        by = "changed by" if fault.by_design else "cured by"
        lines.append(f"  made by   {fault.choice}; {by} {fault.cured_by}")
    if fault.reason:
        lines.append(f"  {fault.status}: {fault.reason}")
    for one in shown:
        lines.append("")
        if one.diff:
            lines.append("the arms differ in " + "; ".join(f"{name}: {first} and {second}" for name, (first, second) in one.diff.items()))
        lines.append(str(one))
    return "\n".join(lines)


def _versions(fault: Fault) -> str:
    words = fault.versions.split(";")[0]
    return words if len(words) <= _WIDEST else words[: _WIDEST - 1] + "…"
