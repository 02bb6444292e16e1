"""Question 7: which budget for this machine? What the recording says of the one it ran under, and the largest that fits.

- `budget_larger_than_machine`: weights + a full budget + live buffers are all that the machine has or more, or it swaps while the budget fills.
- `thrash`: what eviction took was needed again: of the tokens that later requests shared, more were lost to eviction than were restored; or one entry
  is larger than the whole budget, so that nothing is ever kept.
- `budget_filling`: neither: it fills, or is full, and what is needed again is still there.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.diagnose.room import SWAPPED, Room, room
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.units import GB, binary

QUESTION = "which_budget"

GROWN_OVER = GB
"""Growth of swap during a recording from which on its machine counts as too small for what it holds."""


def which_budget(facts: Facts) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer whether the budget suits the machine and the requests, and propose one that fits."""
    if facts.budget.how == "unknown":
        return unanswered(QUESTION, "a_cache", facts, f"Nothing in the recording shows a prefix cache, so no budget is judged. {facts.machine.words()}".strip())
    counted = facts.requests.get_column("counted").drop_nulls()
    if facts.none_listed and not len(counted):
        return unanswered(QUESTION, "loaded_model", facts)
    found, swap_grew = room(facts), facts.machine.swap_grew
    lost, cached, evictions = _lost(facts)
    entry = int(largest(facts.figures("cache_entry")["value"]))
    numbers: dict[str, Number] = {
        "budget_bytes": found.budget,
        "weights_bytes": found.base,
        "full_bytes": found.full,
        "machine_bytes": found.total,
        "held_bytes": found.held,
        "available_bytes": found.available,
        "swap_used_bytes": found.swap,
        "evictions": evictions,
        "lost_to_eviction_tokens_at_most": lost,
        "cached_tokens": cached,
        "largest_budget_bytes": found.largest_budget,
        "proposed_budget_bytes": found.proposed_budget,
        "largest_entry_bytes": entry or None,
    }

    def answer(verdict: str, words: str, confidence: Confidence) -> Finding:
        return Finding(QUESTION, verdict, words, numbers, confidence, (Evidence("observed", (dict(numbers),)),), _REFUTED_BY[verdict])

    if entry > found.budget and "prompt_cache_limit" in facts.last:
        words = f"One entry takes {binary(entry)}, more than the whole budget of {binary(found.budget)}: nothing is ever kept. {_proposal(found, least=entry)}"
        return answer("thrash", words.strip(), "medium")
    past = found.full is not None and found.total is not None and found.full >= found.total
    if past or (found.is_short and found.held is not None) or swap_grew > GROWN_OVER:
        sure: Confidence = "medium" if past or (found.total is not None and found.budget_was_read) else "low"
        return answer("budget_larger_than_machine", _large(found, swap_grew), sure)
    if lost > cached and evictions:
        larger = "A larger budget" if facts.evicted_in() else "More entries"
        words = f"{evictions} evictions: later requests lost up to {lost} tokens to them and restored {cached}. {larger}, or another order of eviction."
        return answer("thrash", f"{words} {_proposal(found)}".strip(), "medium")
    if not len(counted) and found.total is None and found.available is None:
        lacks = f"Neither what the cache counts nor what the machine has was recorded in bytes. {facts.machine.words()}".strip()
        return unanswered(QUESTION, "free_memory", facts, lacks)
    if len(counted) and int(counted[-1]) > found.budget:
        lacks = f"The budget of {binary(found.budget)} does not hold: {binary(int(counted[-1]))} are counted; budget_or_leak says why."
        return unanswered(QUESTION, "longer", facts, lacks).with_figures(numbers)
    full = _is_full(facts, evictions, lost)
    words = f"The budget of {binary(found.budget)} {full[1]}; {cached} were restored. It is not in the way."
    if found.total is not None and found.full is not None:
        words += f" Full it takes {binary(found.full)} of the machine's {binary(found.total)}. {_proposal(found)}"
    return answer("budget_filling", words.strip(), "medium" if len(counted) and full[0] else "low")


def _is_full(facts: Facts, evictions: int, lost: int) -> tuple[bool, str]:
    """Return whether the budget was seen full or need not have been, and the words for its state."""
    most = _most_counted(facts)
    if evictions and not facts.evicted_in():
        most = facts.policy.value.store_entries
        return True, f"is not what evicts: at most {most} entries are kept, and of {evictions} evictions later requests lost up to {lost} tokens"
    # inside our own cache nothing else but a full budget evicts
    full = facts.inside or most is None or most >= facts.budget.value
    if not evictions:
        return full, "evicts nothing yet"
    tokens = f"of {evictions} evictions later requests lost up to {lost} tokens"
    if most is None:
        return full, f"evicts: {tokens}"
    return full, f"is full: {tokens}" if full else f"was not seen full: {binary(most)} were counted at most, with what was evicted; {tokens}"


def _most_counted(facts: Facts) -> int | None:
    """Return the most that was counted in a request, with what was evicted in it; None when nothing was counted."""
    rows = facts.requests.filter(pl.col("counted").is_not_null()).select("request", "counted")
    if not rows.height:
        return None
    freed = facts.evictions.group_by("request").agg(pl.col("freed").sum())
    both = rows.join(freed, on="request", how="left").select(pl.col("counted") + pl.col("freed").fill_null(0)).to_series()
    return int(largest(both))


def _lost(facts: Facts) -> tuple[int, int, int]:
    """Return tokens that requests lost to eviction at most, tokens that were restored, and how many nodes were evicted."""
    gone = facts.requests.filter(pl.col("reason") == "evicted")
    return int(gone.get_column("left").sum() or 0), int(facts.requests.get_column("cached").sum() or 0), facts.evictions.height


def _proposal(found: Room, least: int = 0) -> str:
    """Return the budget that fits, in words; "" when the machine is not known."""
    if found.largest_budget is None:
        return ""
    if found.proposed_budget is None or found.proposed_budget < least:
        return "No budget leaves room."
    return f"The largest budget that leaves room is about {binary(found.proposed_budget)}, before other programs."


def _large(found: Room, swap_grew: int) -> str:
    parts = [f"Weights, live buffers and a full budget of {binary(found.budget)} are {binary(found.full)}"] if found.full is not None else []
    parts += [f"the machine has {binary(found.total)}"] if found.total is not None else []
    come = f"{binary(found.budget_left)} of the budget are still to come"
    if not found.budget_was_read:
        come = f"up to {binary(found.budget_left)} of the budget may still come (how full it is was not read)"
    parts += [f"{binary(found.available)} are available, {come}"] if found.available is not None else []
    parts += [f"{binary(found.swap or 0)} are swapped out"] if (found.swap or 0) > SWAPPED else []
    parts += [f"swap grew by {binary(swap_grew)} meanwhile"] if swap_grew > GROWN_OVER else []
    words = "; ".join(parts)
    fixed = "Where the budget is fixed (Ollama's 8 GiB has no setting), a smaller model or unloading between jobs remains."
    return " ".join(part for part in (f"{words[0].upper()}{words[1:]}.", _proposal(found), fixed) if part)


_REFUTED_BY = {
    "budget_larger_than_machine": "a full budget and a full context on this machine without swapping",
    "thrash": "the same requests losing as much under a budget twice as large",
    "budget_filling": "requests that lose more to eviction than they restore, or swapping while the budget fills",
}
