"""The checklist of a server that does not give its bytes back: what is known, what is missing, the command that fills it, and the decision.

Its items are data (checklist.toml). The decision is to stay on this machine, to split the jobs, or to move to a node that can be replaced: the
gravest reason counts, whichever recording of the server has it; without the items that a decision needs it is `undecided`, and says which are missing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.events import Matched, Served
from kvlab.findings import diagnose
from kvlab.findings.budget_or_leak import BOUNDED
from kvlab.findings.facts import facts
from kvlab.findings.finding import OPEN, Findings
from kvlab.findings.question import LOGS
from kvlab.findings.what_will_unload_give_back import unload_seen
from kvlab.recording import Recording
from kvlab.recording.facts import Facts
from kvlab.recording.facts.facts import CONTEXTS
from kvlab.units import binary
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
"""The three series that separate what grows with what."""

NEEDED = ("keep_alive", "read_together", *SERIES, "unload_answered", "old_process_gone", "loaded_again")
"""Items without which nothing says that the machine is safe to stay on."""

UNKNOWN = ("", "unknown")
"""A model's name where it is not known."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Attributes:
        name: How notes and programs call it.
        about: What has to be known.
        fill: The command that fills it; for one that is filled by hand, what to write down.
        by_hand: No recording can fill it.
    """

    name: str
    about: str
    fill: str
    by_hand: bool = False

    @property
    def asks(self) -> str:
        """The name of `about` up to this version."""
        return self.about


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
        """Return the checklist as JSON holds it; `asks` is `about` by its name up to this version."""
        items = [
            {"item": item.name, "about": item.about, "asks": item.about, "known": words or None, "fill": None if words else item.fill} for item, words in self
        ]
        return {"items": items, "missing": list(self.missing), "decision": self.decision, "reason": self.reason} | (
            {"not_taken": list(self.not_taken)} if self.not_taken else {}
        )

    def text(self) -> str:
        """Return the checklist as text, a line an item."""
        lines = [f"[{'x' if words else ' '}] {item.about}{f': {words}' if words else ''}" for item, words in self]
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
    found = recording.tables.names("model").unique(maintain_order=True).to_list()
    named = tuple(name for name in found if name not in UNKNOWN)
    return named or tuple(name for name in (recording.manifest.model,) if name not in UNKNOWN)


def _short_name(model: str) -> str:
    """Return a name without what a server may leave out: the registry, `library/` and the tag `latest`."""
    return model.lower().rpartition("/")[2].removesuffix(":latest")


LEAST_REQUESTS = 5
"""Requests that a series has at least."""

ALIKE = 1.25
"""The longest prompt of alike ones is at most so many times the shortest."""

TOGETHER = ("list", "process", "footprint", "swap")


def known_from(facts: Facts) -> dict[str, str]:
    """Return the words of what is known, by item."""
    known = {name: answer(facts) for name, answer in _ANSWERS.items()}
    return {name: words for name, words in known.items() if words}


def _keep_alive(facts: Facts) -> str:
    listed = facts.of_kind("listed")
    if not listed.height:
        return ""
    last = listed.row(-1, named=True)
    if not last["count"]:
        return f"no model is listed at the end; one was before: {'yes' if any(one.models for one in facts.samples) else 'no'}"
    return f"listed at the end, until {last['label'] or 'a time that is not recorded'}"


def _together(facts: Facts) -> str:
    whole = [one for one in facts.samples if one.models is not None and one.pids and one.held is not None and one.swap is not None]
    return f"in {len(whole)} samples, {', '.join(TOGETHER)}" if whole else ""


def _parts(facts: Facts) -> str:
    held = facts.parts
    inside = [name for name in ("weights", "live", "snapshots", "pool") if name in held.bytes]
    outside = [name for name in ("gpu", "heap", "mapped") if name in held.bytes]
    arrays = "weights" in held.bytes or "gpu" in held.bytes or ("size" in held.bytes and "heap" in held.bytes)
    split = "mapped" in held.bytes and "heap" in held.bytes
    size, anonymous, mapped = held.get("size"), held.get("anonymous"), held.get("mapped")
    if not arrays and size is not None and anonymous is not None and mapped is not None:
        # a process that is not charged with its arrays, as with a GPU on Linux: what it has to itself is heap
        return f"arrays as listed (weights and KV together) {binary(size)}, heap {binary(anonymous)}, mapped {binary(mapped)}"
    if not (arrays and (split or "weights" in held.bytes)):
        return ""
    return ", ".join(f"{name} {binary(held.bytes[name])}" for name in (*inside, *outside))


def _by_requests(facts: Facts) -> str:
    # only requests that are alike in context, concurrency and prompt are a series of their number
    context, at_once, prompts = _sent(facts, *CONTEXTS), _sent(facts, "concurrency"), _prompt_tokens(facts)
    alike: dict[tuple[float | None, float | None], list[float]] = {}
    for request in _figures(facts).get_column("request").unique():
        if request in prompts:
            alike.setdefault((context.get(request), at_once.get(request)), []).append(prompts[request])
    count, shortest, longest = max((_most_alike(tokens) for tokens in alike.values()), default=(0, 0, 0))
    return f"{count} requests alike ({shortest:,} to {longest:,} prompt tokens), with figures after them" if count >= LEAST_REQUESTS else ""


def _prompt_tokens(facts: Facts) -> dict[int, float]:
    """Return the tokens of the prompts by request, as far as they were recorded."""
    recorded = {request: tokens for request, tokens in _sent(facts, "prompt_tokens").items() if tokens > 0}
    return recorded | dict(facts.requests.filter(pl.col("tokens") > 0).select("request", "tokens").iter_rows())


def _most_alike(tokens: list[float]) -> tuple[int, int, int]:
    """Return how many prompts are alike, when most are, and the tokens of the shortest and the longest of them; else zeros."""
    ordered, first, best = sorted(tokens), 0, (0, 0, 0)
    for place, longest in enumerate(ordered):
        while longest > ALIKE * ordered[first]:
            first += 1
        best = max(best, (place - first + 1, round(ordered[first]), round(longest)))
    # of prompts that grow from turn to turn the last ones are near each other, too: that is no series of alike ones
    return best if 2 * best[0] >= len(tokens) else (0, 0, 0)


def _by_context(facts: Facts) -> str:
    return _values(facts, "contexts {}", *CONTEXTS)


def _by_concurrency(facts: Facts) -> str:
    return _values(facts, "{} at once", "concurrency")


def _values(facts: Facts, words: str, *gauges: str) -> str:
    """Return the values with which requests were sent, in words, where there are several and figures after the requests; else ""."""
    values = sorted(set(_sent(facts, *gauges).values()))
    return words.format(", ".join(str(round(value)) for value in values)) if len(values) > 1 and _figures(facts).height else ""


def _unload_answered(facts: Facts) -> str:
    signs = _signs(facts, "unload_accepted", "unload_refused")
    return f"{signs[-1]['state'].removeprefix('unload_')}: {signs[-1]['message']}" if signs else ""


def _old_process_gone(facts: Facts) -> str:
    signs = _signs(facts, "unload_verified", "left_behind")
    if signs:
        return f"{'yes' if signs[-1]['state'] == 'unload_verified' else 'no'}: {signs[-1]['message']}"
    seen = unload_seen(facts.samples)
    if seen is None or not seen.old_pids or seen.listed_again is None or seen.listed_again or seen.settled == "no":
        return ""
    if seen.left_behind:
        return f"no: no longer listed, and process {', '.join(map(str, seen.alive_pids))} lives"
    return f"yes: no longer listed; process {', '.join(map(str, seen.old_pids))} is gone"


def _loaded_again(facts: Facts) -> str:
    signs = _signs(facts, "loaded_again")
    if not signs:
        return ""
    stopped = facts.requests.filter(pl.col("stop").is_in(["cancelled", "failed"])).height
    return f"in {signs[-1]['seconds']:.1f} s; {stopped} request{'' if stopped == 1 else 's'} interrupted"


def _logs_kept(facts: Facts) -> str:
    if facts.source in LOGS:
        return "this recording is of the server's log"
    # only a log has these for a probe
    read = facts.recording.tables.has(Served, Matched)
    return "the server's log was read with it" if facts.source == "probe" and read else ""


def _figures(facts: Facts) -> pl.DataFrame:
    gauges = ["size", "size_vram", "footprint", "rss", "resident", "reported"]
    return facts.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("value").is_not_null())


def _sent(facts: Facts, *gauges: str) -> dict[int, float]:
    """Return what requests were sent with, by request."""
    rows = facts.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("number").is_not_null())
    return dict(rows.select("request", "number").iter_rows())


def _signs(facts: Facts, *states: str) -> list[dict[str, Any]]:
    return facts.signs.filter(pl.col("state").is_in(states)).to_dicts()


_ANSWERS: dict[str, Callable[[Facts], str]] = {
    "keep_alive": _keep_alive,
    "read_together": _together,
    "parts_separated": _parts,
    "by_requests": _by_requests,
    "by_context": _by_context,
    "by_concurrency": _by_concurrency,
    "unload_answered": _unload_answered,
    "old_process_gone": _old_process_gone,
    "loaded_again": _loaded_again,
    "logs_kept": _logs_kept,
}
