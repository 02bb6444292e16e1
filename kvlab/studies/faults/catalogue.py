"""The catalogue of known defects, as plain data read from `data/faults.toml`, and how a user finds an entry."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any, cast

from kvlab import shipped
from kvlab.errors import BadValue
from kvlab.policy import choice_words

SWITCH, LIFECYCLE, DOCUMENTED = "switch", "lifecycle", "documented only"
"""What kvlab can do about an entry: a policy's choice makes it and another cures it; it is of a server's lifetime, not of the cache; it is described."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One known defect.

    Attributes:
        id: Its id in the public study of the upstream runner; `M-…` for what is mlx-lm's own.
        name: What happens, in a few words.
        symptom: What a user sees.
        layers: The layer kinds that show it; empty when layers do not matter.
        versions: The releases that have it.
        status: `switch`, `lifecycle` or `documented only`.
        issue: Where it was reported or cured; "" when nowhere in public.
        field: The policy's field that makes it; "" for none.
        fault: That field's value that makes it.
        cure: The value that cures it.
        reason: Why it is not on a switch; "" when it is.
        by_design: Upstream main does so too: the cure is another rule, not a repair.
    """

    id: str
    name: str
    symptom: str
    layers: tuple[str, ...]
    versions: str
    status: str = SWITCH
    issue: str = ""
    field: str = ""
    fault: Any = None
    cure: Any = None
    reason: str = ""
    by_design: bool = False

    @property
    def choice(self) -> str | None:
        """The choice that makes it, as `--set` takes it; None when there is none."""
        return f"{self.field}={choice_words(self.fault)}" if self.field else None

    @property
    def cured_by(self) -> str | None:
        """The choice that cures it, as `--set` takes it; None when there is none."""
        return f"{self.field}={choice_words(self.cure)}" if self.field else None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON holds it."""
        return {
            "id": self.id,
            "name": self.name,
            "symptom": self.symptom,
            "layers": list(self.layers),
            "versions": self.versions,
            "status": self.status,
            "choice": self.choice,
            "cured_by": self.cured_by,
            "by_design": self.by_design,
            "reason": self.reason or None,
            "issue": self.issue or None,
        }


def _fault(row: dict[str, Any]) -> Fault:
    values: dict[str, Any] = {**row, "layers": tuple(row["layers"])}
    for name in ("fault", "cure"):
        if isinstance(row.get(name), list):
            values[name] = frozenset(cast("list[str]", row[name]))
    return Fault(**values)


CATALOGUE = {row["id"]: _fault(row) for row in tomllib.loads(shipped.data("faults.toml").read_text(encoding="utf-8"))["fault"]}
"""Every entry by its id, as they are listed."""


def find(text: str) -> Fault:
    """Return the entry that `text` names: its id (`F-14`, `f14`), or words of its name that no other has (`lazy snapshot`).

    Raises:
        BadValue: no entry has it, or several have.
    """
    wanted = _plain(text)
    for fault in CATALOGUE.values():
        if wanted in (_plain(fault.id), _plain(fault.name)):
            return fault
    near = [fault for fault in CATALOGUE.values() if wanted and wanted in _plain(fault.name)]
    if len(near) == 1:
        return near[0]
    raise BadValue(
        what=f"{text!r} names {'no entry' if not near else f'{len(near)} entries'} of the catalogue",
        why="an entry is named by its id, or by words of its name that no other has"
        + (f": {', '.join(f'{one.id} ({one.name})' for one in near)}" if near else ""),
        hint="kvlab faults lists them all",
    )


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
