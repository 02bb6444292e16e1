"""Checklist: what a recording knows of every item, what is missing and the command that fills it, and the decision. Fills itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.diagnose.checklist.decision import DECISIONS, decide
from kvlab.diagnose.checklist.items import ITEMS, NAMES, Item
from kvlab.diagnose.checklist.known_from import LOGS, known_from
from kvlab.diagnose.checklist.models_named import models_named, short_name
from kvlab.diagnose.facts import facts
from kvlab.diagnose.findings import Findings
from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.recording import Recording
from kvlab.visible_text import visible


@dataclass(frozen=True, slots=True, repr=False)
class Checklist(Rich):
    """The checklist of one recording.

    Attributes:
        known: What is known, by item.
        noted: Of these, the items that a user's note fills.
        decision: `stay`, `split`, `move` or `undecided`.
        reason: Why.
        not_taken: Further recordings that are not of the same server, and why.
    """

    known: dict[str, str]
    noted: tuple[str, ...]
    decision: str
    reason: str
    not_taken: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the items that are not known."""
        return tuple(name for name in NAMES if name not in self.known)

    def __iter__(self) -> Iterator[tuple[Item, str]]:
        """Yield every item with what is known of it; "" for what is missing."""
        return ((item, self.known.get(item.name, "")) for item in ITEMS)

    def to_dict(self) -> dict[str, Any]:
        """Return the checklist as JSON holds it."""
        items = [{"item": item.name, "asks": item.asks, "known": words or None, "fill": None if words else item.fill} for item, words in self]
        return {"items": items, "missing": list(self.missing), "decision": self.decision, "reason": self.reason} | (
            {"not_taken": list(self.not_taken)} if self.not_taken else {}
        )

    def text(self) -> str:
        """Return the checklist as text, a line an item."""
        lines = [f"[{'x' if words else ' '}] {item.asks}{f': {words}' if words else ''}" for item, words in self]
        filled = [f"    {item.fill}" if not words else "" for item, words in self]
        both = [line for pair in zip(lines, filled, strict=True) for line in pair if line]
        return visible("\n".join([*both, *self.not_taken, f"decision: {DECISIONS[self.decision]} ({self.reason})"]))

    def __repr__(self) -> str:
        return self.text()


def checklist(recording: Recording, findings: Findings | None = None, *, notes: Mapping[str, str] | None = None, also: Sequence[Recording] = ()) -> Checklist:
    """Return the checklist that a recording fills; the decision is made from the findings of all recordings.

    Args:
        recording: Of a probe, a log, a table, or a run.
        findings: Its findings, when they are there already.
        also: Further recordings of the same server, such as the other series; where two answer the same item, the first one counts. A log of other
            models is not taken for the server's.
        notes: What a user knows, by item: what no recording tells, such as who holds the lock.

    Raises:
        BadValue: a note is on no item.
    """
    given = {name: words.strip() for name, words in (notes or {}).items() if words.strip()}
    for name in given:
        if name not in NAMES:
            raise BadValue(what=f"the checklist has no item {name!r}", why=f"its items are {', '.join(NAMES)}", hint="correct the name")
    from kvlab.diagnose import diagnose  # the package answers all questions, from this one's parts too

    if findings is None:
        findings = diagnose(recording)
    known: dict[str, str] = known_from(facts(recording))
    judged = [findings]
    not_taken: list[str] = []
    for one in also:
        others = _of_others(one, recording)
        if others:
            not_taken.append(others)
        else:
            known = known_from(facts(one)) | known
            judged.append(diagnose(one))
    known |= given
    decision, reason = decide(judged, known)
    return Checklist(known, tuple(given), decision, reason, tuple(not_taken))


def _of_others(log: Recording, recording: Recording) -> str:
    """Return why a log is not the server's: it names other models only; "" when it may be."""
    if log is recording or log.manifest.source not in LOGS:
        return ""
    here, there = (models_named(one) for one in (recording, log))
    if not here or not there or {short_name(name) for name in here} & {short_name(name) for name in there}:
        return ""
    return f"not taken: a log of {', '.join(there)}, which is not the server's that runs {', '.join(here)}"
