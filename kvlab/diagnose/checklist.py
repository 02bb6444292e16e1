"""The checklist of a server that does not give its bytes back: what is known, what is missing, the command that fills it, and the decision.

Its items are data (checklist.toml); what a recording answers of them is in checklist_known.py. The decision is to stay on this machine, to split the
jobs, or to move to a node that can be replaced: the gravest reason counts, whichever recording of the server has it; without the items that a decision
needs it is `undecided`, and says which are missing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.diagnose import diagnose
from kvlab.diagnose.budget_or_leak import BOUNDED
from kvlab.diagnose.checklist_known import known_from
from kvlab.diagnose.facts import facts
from kvlab.diagnose.finding import OPEN, Findings
from kvlab.diagnose.missing import LOGS
from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.recording import Recording
from kvlab.visible_text import visible

DECISIONS = {
    "stay": "stay on this machine",
    "split": "split the jobs",
    "move": "move to a node that can be replaced",
    "undecided": "not decided yet",
}
"""Every decision in words."""

GROWTH = "budget_or_leak"

REASONS: tuple[tuple[str, dict[str, tuple[str, ...]], str], ...] = (
    (
        "move",
        {GROWTH: ("leak", "heap_growth"), "who_holds_it": ("leak",)},
        "{verdict}: what grows is not given back by any budget; recycle the server by its work until it is found",
    ),
    (
        "move",
        {"what_will_unload_give_back": ("process_left_behind",)},
        "an unload leaves the old process behind: only replacing the node gives its bytes back for sure",
    ),
    (
        "split",
        {GROWTH: ("over_budget_by_design",)},
        "one long conversation passes the budget by design: end conversations, or recycle after each",
    ),
    (
        "split",
        {"which_budget": ("budget_larger_than_machine",), "will_it_fit": ("does_not_fit",)},
        "what the rules allow is more than the machine has: fewer models at once, shorter contexts, or batches with an unload between",
    ),
)
"""The gravest first: a decision, the verdicts by question that lead to it, and the reason."""

SERIES = ("by_requests", "by_context", "by_concurrency")
"""The three series that tell apart what grows with what."""

NEEDED = ("keep_alive", "read_together", *SERIES, "unload_answered", "old_process_gone", "loaded_again")
"""Items without which nothing says that the machine is safe to stay on."""

UNKNOWN = ("", "unknown")
"""A model's name where it is not known."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Attributes:
        name: How notes and programs call it.
        asks: What has to be known.
        fill: The command that fills it; for one that is filled by hand, what to write down.
        by_hand: No recording can fill it.
    """

    name: str
    asks: str
    fill: str
    by_hand: bool = False


ITEMS = tuple(Item(name, **item) for name, item in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items())
"""All items in order."""

NAMES = tuple(item.name for item in ITEMS)


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
        notes: What a user knows, by item: what no recording has, such as who holds the lock.

    Raises:
        BadValue: a note is on no item.
    """
    given = {name: words.strip() for name, words in (notes or {}).items() if words.strip()}
    for name in given:
        if name not in NAMES:
            raise BadValue(what=f"the checklist has no item {name!r}", why=f"its items are {', '.join(NAMES)}", hint="correct the name")
    if findings is None:
        findings = diagnose(recording)
    known: dict[str, str] = known_from(facts(recording))
    judged, not_taken = [findings], list[str]()
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


def decide(findings: Sequence[Findings], known: Mapping[str, str]) -> tuple[str, str]:
    """Return the decision and its reason, from the findings of every recording of one server."""
    every = [one for each in findings for one in each]
    for decision, verdicts, reason in REASONS:
        found = next((one.verdict for one in every if one.verdict in verdicts.get(one.question, ())), None)
        if found is not None:
            return decision, reason.format(verdict=found)
    missing = [name for name in NEEDED if name not in known]
    if missing:
        return "undecided", f"missing: {', '.join(missing)}"
    growth = [one.verdict for one in every if one.question == GROWTH and one.verdict != OPEN]
    other = [verdict for verdict in growth if verdict not in BOUNDED]
    if growth and not other:
        return "stay", f"growth is bounded ({growth[0]}), and an unload was proved to give its bytes back"
    return "undecided", f"{GROWTH} is {', '.join(other) or 'not answered'}"


def _of_others(log: Recording, recording: Recording) -> str:
    """Return why a log is not the server's: it names other models only; "" when it may be."""
    if log is recording or log.manifest.source not in LOGS:
        return ""
    here, there = _models_named(recording), _models_named(log)
    if not here or not there or {_short_name(name) for name in here} & {_short_name(name) for name in there}:
        return ""
    return f"not taken: a log of {', '.join(there)}, which is not the server's that runs {', '.join(here)}"


def _models_named(recording: Recording) -> tuple[str, ...]:
    """Return the models that a recording's events name, else its manifest's; none when it names none."""
    found = recording.events.get_column("model").drop_nulls().unique(maintain_order=True).to_list()
    named = tuple(name for name in found if name not in UNKNOWN)
    return named or tuple(name for name in (recording.manifest.model,) if name not in UNKNOWN)


def _short_name(model: str) -> str:
    """Return a name without what a server may leave out: the registry, `library/` and the tag `latest`."""
    return model.lower().rpartition("/")[2].removesuffix(":latest")
