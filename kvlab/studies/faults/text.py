"""The catalogue and one entry as text for a terminal and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.studies.faults.arms import Shown
from kvlab.studies.faults.catalogue import CATALOGUE, Fault
from kvlab.views import text_table

_WIDEST = 62


class Listing:
    """The catalogue: a row an entry, with the choice that makes it or why there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as JSON holds them."""
        return {"faults": [fault.to_dict() for fault in CATALOGUE.values()]}

    def __str__(self) -> str:
        head = ("id", "status", "what happens", "Ollama's versions", "made by")
        rows = [(fault.id, fault.status, fault.name, _versions(fault), fault.choice or "") for fault in CATALOGUE.values()]
        return f"{text_table.columns(head, rows, left=range(5))}\n\nkvlab faults ID runs its trigger in both arms and shows what differs."


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry with what both arms of its demonstrations showed."""

    shown: tuple[Shown, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry and its arms as JSON holds them."""
        fault = self.shown[0].fault
        arms = [arm for one in self.shown for arm in one.arms_to_dict()]
        return {"id": fault.id, "fault": fault.to_dict(), "differ_in": sorted({name for one in self.shown for name in one.diff}), "arms": arms}

    def __str__(self) -> str:
        fault = self.shown[0].fault
        lines = [f"{fault.id}: {fault.name}", f"  symptom   {fault.symptom}", f"  versions  {fault.versions}"]
        if fault.layers:
            lines.append(f"  layers    {', '.join(fault.layers)}")
        if fault.issue:
            lines.append(f"  reported  {fault.issue}")
        if fault.choice:
            lines.append(f"  made by   {fault.choice}; {'changed by' if fault.by_design else 'cured by'} {fault.cured_by}")
        if fault.reason:
            lines.append(f"  {fault.status}: {fault.reason}")
        for one in self.shown:
            lines.append("")
            if one.diff:
                lines.append("the arms differ in " + "; ".join(f"{name}: {first} and {second}" for name, (first, second) in one.diff.items()))
            lines.append(str(one))
        return "\n".join(lines)


def _versions(fault: Fault) -> str:
    words = fault.versions.split(";")[0]
    return words if len(words) <= _WIDEST else words[: _WIDEST - 1] + "…"
