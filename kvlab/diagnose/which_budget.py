"""Question 7: which budget for this machine? What the recording says of the one it ran under.

- `budget_larger_than_machine`: weights + a full budget + live buffers are all that the machine has or more, or it swaps while the budget fills.
- `thrash`: what eviction took was asked for again: of the tokens that later requests shared, more were lost to eviction than were restored.
- `budget_filling`: neither: it fills, or is full, and what is asked for again is still there.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.known import OWN
from kvlab.diagnose.machine_told import machine_told
from kvlab.diagnose.room import Room, none_listed, room
from kvlab.events import Evicted
from kvlab.recording import Recording
from kvlab.recording.extremes import largest
from kvlab.recording.readings import PREDICTED
from kvlab.units import GB, binary

QUESTION = "which_budget"

SWAPPED = GB
"""Swap in use from which on a machine counts as too small for what it holds."""

GROWN_OVER = GB
"""Growth of swap during a recording that says so too."""


def which_budget(recording: Recording) -> Finding:
    """Answer whether the budget suits the machine and the requests."""
    if none_listed(recording) and not recording.requests.get_column("counted").is_not_null().any():
        return not_enough_data(QUESTION, "No model is listed.", "Load one and look again: kvlab probe.")
    found = room(recording)
    lost, cached, evictions = _lost(recording)
    plateau = None if found.base is None else found.base + found.budget + (found.live_left or 0)
    numbers: dict[str, Number] = {
        "budget_bytes": found.budget,
        "weights_bytes": found.base,
        "full_bytes": plateau,
        "machine_bytes": found.total,
        "held_bytes": found.held,
        "available_bytes": found.available,
        "swap_used_bytes": found.swap,
        "evictions": evictions,
        "lost_to_eviction_tokens_at_most": lost,
        "cached_tokens": cached,
        "largest_budget_bytes": _largest(found),
    }
    machine = machine_told(recording)
    swap_grown = machine.swap_grew
    too_large = (plateau is not None and found.total is not None and plateau >= found.total) or (
        found.available is not None and found.held is not None and found.budget_left > found.available
    )
    if too_large or swap_grown > GROWN_OVER:
        return _finding("budget_larger_than_machine", _large(found, plateau, swap_grown), numbers, _sure_of_large(found, plateau))
    if lost > cached and evictions:
        words = f"{evictions} evictions: later requests lost up to {lost} tokens to them and restored {cached}. A larger budget, or another order of eviction."
        return _finding("thrash", words, numbers, "medium")
    read = recording.requests.get_column("counted").drop_nulls()
    if not len(read) and found.total is None and found.available is None:
        record = "Record the machine's bytes and what the cache counts: kvlab probe, and the server's log at OLLAMA_DEBUG=2."
        told = f"Neither what the cache counts nor what the machine has is told in bytes. {machine.words()}".strip()
        return not_enough_data(QUESTION, told, record)
    if len(read) and int(read[-1]) > found.budget:
        lacks = f"The budget of {binary(found.budget)} does not hold: {binary(int(read[-1]))} are counted; budget_or_leak says why."
        return replace(not_enough_data(QUESTION, lacks, "Record a run that its rules keep below it."), numbers=numbers)
    fits = "" if found.total is None else f" Full it takes {binary(plateau)} of the machine's {binary(found.total)}." if plateau is not None else ""
    most = _most_counted(recording)
    # inside our own cache nothing but a full budget evicts
    full = recording.manifest.source in OWN or most is None or most >= found.budget
    state = "evicts nothing yet"
    if evictions:
        lost_words = f"of {evictions} evictions later requests lost up to {lost} tokens"
        seen = f"was not seen full: {binary(most or 0)} were counted at most, with what was evicted"
        state = f"is full: {lost_words}" if full and most is not None else f"{seen}; {lost_words}" if most is not None else f"evicts: {lost_words}"
    words = f"The budget of {binary(found.budget)} {state}; {cached} were restored. It is not in the way.{fits}"
    return _finding("budget_filling", words, numbers, "medium" if len(read) and full else "low")


def _sure_of_large(found: Room, plateau: int | None) -> Confidence:
    """Return how sure it is that a budget is larger than its machine: not very, where it stands on a budget that may be filled already."""
    surely = plateau is not None and found.total is not None and plateau >= found.total
    return "medium" if surely or (found.total is not None and found.budget_was_read) else "low"


def _most_counted(recording: Recording) -> int | None:
    """Return the most that was counted in a request, with what was evicted in it; None when nothing was counted."""
    rows = recording.requests.filter(pl.col("counted").is_not_null()).select("request", "counted")
    if not rows.height:
        return None
    freed = _evictions(recording).group_by("request").agg(pl.col("freed").fill_null(0).sum())
    both = rows.join(freed, on="request", how="left").select(pl.col("counted") + pl.col("freed").fill_null(0)).to_series()
    return int(largest(both))


def _lost(recording: Recording) -> tuple[int, int, int]:
    """Return tokens that requests lost to eviction at most, tokens that were restored, and how many nodes were evicted."""
    rows = recording.requests
    gone = rows.filter(pl.col("reason") == "evicted")
    return int(gone.get_column("left").sum() or 0), int(rows.get_column("cached").sum() or 0), _evictions(recording).height


def _evictions(recording: Recording) -> pl.DataFrame:
    return recording.events.filter((pl.col("kind") == Evicted.kind) & pl.col("source").ne_missing(PREDICTED))


def _largest(found: Room) -> int | None:
    """Return the largest budget that leaves room for weights, live buffers and a prefill's moment; None when the machine is not known."""
    if found.total is None or found.base is None:
        return None
    return max(0, found.total - found.base - (found.live_left or 0) - (found.transient or 0))


def _large(found: Room, plateau: int | None, swap_grown: int) -> str:
    parts = [f"Weights, live buffers and a full budget of {binary(found.budget)} are {binary(plateau)}"] if plateau is not None else []
    parts += [f"the machine has {binary(found.total)}"] if found.total is not None else []
    come = f"{binary(found.budget_left)} of the budget are still to come"
    if not found.budget_was_read:
        come = f"up to {binary(found.budget_left)} of the budget may still come (how full it is was not read)"
    parts += [f"{binary(found.available)} are available, {come}"] if found.available is not None else []
    parts += [f"swap grew by {binary(swap_grown)} meanwhile"] if swap_grown > GROWN_OVER else []
    largest = _largest(found)
    advice = f" The largest budget that leaves room is about {binary(largest)}, before other programs." if largest else " No budget leaves room."
    advice = "" if largest is None else advice
    words = "; ".join(parts)
    return (
        f"{words[0].upper()}{words[1:]}.{advice} Where the budget is fixed (Ollama's 8 GiB has no setting), a smaller model or unloading between jobs remains."
    )


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence) -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, (Evidence("observed", (dict(numbers),)),), _REFUTED_BY[verdict])


_REFUTED_BY = {
    "budget_larger_than_machine": "a full budget and a full context on this machine without swapping",
    "thrash": "the same requests losing as much under a budget twice as large",
    "budget_filling": "requests that lose more to eviction than they restore, or swapping while the budget fills",
}
