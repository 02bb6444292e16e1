"""Question 7: which budget for this machine? What the recording says of the one it ran under, and the largest that fits.

- `budget_larger_than_machine`: weights + a full budget + live buffers are all that the machine has or more, or it swaps while the budget fills.
- `thrash`: what eviction took was needed again: of the tokens that later requests shared, more were lost to eviction than were restored; or one entry
  is larger than the whole budget, so that nothing is ever kept.
- `budget_filling`: neither: it fills, or is full, and what is needed again is still there.
"""

from __future__ import annotations

import polars as pl

from kvlab.findings.finding import Confidence, Finding, Number
from kvlab.findings.growth import filling
from kvlab.findings.question import Question, capital
from kvlab.findings.will_it_fit import SWAPPED, Room, room
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.units import GB

Q = Question("which_budget")

GROWN_OVER = GB
"""Growth of swap during a recording from which on its machine counts as too small for what it holds."""


def which_budget(facts: Facts, growth: Finding | None = None) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer whether the budget suits the machine and the requests, and propose one that fits; `growth` is the answer of `budget_or_leak`, if there is one."""
    if facts.budget.how == "unknown":
        return Q.open("a_cache", facts, Q.say("no_cache", system=facts.machine.words()).strip())
    counted = facts.requests.get_column("counted").drop_nulls()
    if facts.none_listed and not len(counted):
        return Q.open("loaded_model", facts)
    found, swap_grew = room(facts), facts.machine.swap_grew
    lost, cached, evictions = _lost(facts)
    entry = int(largest(facts.figures("cache_entry")["value"]))
    numbers: dict[str, Number] = {
        "budget_bytes": found.budget,
        "weights_bytes": found.base,
        "full_bytes": found.full,
        "machine_bytes": found.machine.total,
        "held_bytes": found.held,
        "available_bytes": found.available,
        "swap_used_bytes": found.machine.swap_used,
        "evictions": evictions,
        "lost_to_eviction_tokens_at_most": lost,
        "cached_tokens": cached,
        "largest_budget_bytes": found.largest_budget,
        "proposed_budget_bytes": found.proposed_budget,
        "largest_entry_bytes": entry or None,
    }

    if entry > found.budget and "prompt_cache_limit" in facts.last:
        return Q.found("thrash", _joined(Q.say("entry", numbers), _proposal(found, numbers, least=entry)), numbers, "medium")
    past = found.full is not None and found.machine.total is not None and found.full >= found.machine.total
    if past or (found.is_short and found.held is not None) or swap_grew > GROWN_OVER:
        sure: Confidence = "medium" if past or (found.machine.total is not None and found.budget_was_read) else "low"
        return Q.found("budget_larger_than_machine", _too_large_words(found, numbers, swap_grew), numbers, sure)
    if lost > cached and evictions:
        return Q.found(
            "thrash",
            _joined(Q.say("thrash", numbers, larger=Q.say("larger_budget" if facts.evicted_in() else "more_entries")), _proposal(found, numbers)),
            numbers,
            "medium",
        )
    if not len(counted) and found.machine.total is None and found.available is None:
        return Q.open("free_memory", facts, Q.say("not_in_bytes", system=facts.machine.words()).strip())
    if len(counted) and (int(counted[-1]) > found.budget or (growth is not None and growth.verdict == "unexplained")):
        return Q.open("longer", facts, Q.say("does_not_hold", numbers, counted_bytes=int(largest(counted)))).with_figures(numbers)
    most = _most_counted(facts)
    # whether it was seen full or need not have been: inside our own cache nothing else but a full budget evicts
    full = facts.inside or most is None or most >= facts.budget.value
    if most is not None and not evictions and not facts.inside:
        # evictions are seldom recorded outside: it is full where what is counted stays just below it, too
        full = full or any(filling(one).reached is not None for one in facts.counted)
    unseen = not facts.inside and most is not None and full
    state = ("is_full_unseen" if unseen else "nothing_evicted") if not evictions else "evicts" if most is None else "is_full" if full else "not_full"
    if evictions and not facts.evicted_in():
        full, state = True, "entries_evict"
    machine = _joined(Q.say("takes", numbers), _proposal(found, numbers)) if found.machine.total is not None and found.full is not None else ""
    words = Q.say(
        "budget_filling", numbers, state=Q.say(state, most_bytes=most, most_entries=facts.policy.value.store_entries, of=Q.say("of", numbers)), machine=machine
    )
    return Q.found("budget_filling", words, numbers, "medium" if len(counted) and full else "low")


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


def _proposal(found: Room, numbers: dict[str, Number], least: int = 0) -> str:
    """Return the budget that fits, in words; "" when the machine is not known."""
    if found.largest_budget is None:
        return ""
    return Q.say("no_room" if found.proposed_budget is None or found.proposed_budget < least else "proposal", numbers)


def _too_large_words(found: Room, numbers: dict[str, Number], swap_grew: int) -> str:
    holds = {
        "full": found.full is not None,
        "machine": found.machine.total is not None,
        "available" if found.budget_was_read else "available_at_most": found.available is not None,
        "swapped": (found.machine.swap_used or 0) > SWAPPED,
        "swap_grew": swap_grew > GROWN_OVER,
    }
    said = [Q.say(key, numbers, budget_left_bytes=found.budget_left, swap_growth_bytes=swap_grew) for key, is_so in holds.items() if is_so]
    return _joined(f"{capital('; '.join(said))}.", _proposal(found, numbers), Q.say("fixed"))


def _joined(*sentences: str) -> str:
    return " ".join(one for one in sentences if one)
