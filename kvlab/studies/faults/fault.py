"""Fault: one entry of the catalogue, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.policy import choice_words
from kvlab.shape import KINDS, WHOLE_STATE

SWITCH, LIFECYCLE, DOCUMENTED = "switch", "lifecycle", "documented only"
"""What kvlab can do about an entry: a policy's choice makes it and another cures it; it is of a server's life, not of the cache; it is told."""

KV = ("kv", "draft_kv")
WHOLE = tuple(kind for kind in KINDS if kind in WHOLE_STATE)
ANY = (*KV, *WHOLE)


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
