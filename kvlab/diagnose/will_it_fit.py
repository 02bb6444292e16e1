"""Question 5: will the next request, or what this model may still lawfully take, fit this machine?

- `does_not_fit`: the server refused a load for it, or what the rules still allow is more than the machine has available.
- `fits`: budget left + live buffers to a full context + a prefill's transients are less than what is available.
- `needs_peak_forecast`: budget and live buffers fit, but what a prefill needs for a moment is not known (the model's shape is not), or decides.
"""

from __future__ import annotations

from dataclasses import replace

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.machine_told import machine_told
from kvlab.diagnose.peaks_told import peaks_told
from kvlab.diagnose.room import Room, none_listed, refused, room
from kvlab.recording import Recording
from kvlab.units import GB, binary

QUESTION = "will_it_fit"

SWAPPED = GB
"""Swap in use from which on a machine has no bytes to give away."""


def will_it_fit(recording: Recording) -> Finding:
    """Answer whether what may still come fits what the machine has left."""
    said = refused(recording)
    if said is not None:
        needs, has = said
        return _finding(
            "does_not_fit",
            f"The server refused a load: it needs {binary(needs)} and {binary(has)} were available.",
            {"needs_bytes": needs, "available_bytes": has},
            "the same load going through while the same models stay loaded",
            "high",
        )
    if none_listed(recording):
        return not_enough_data(QUESTION, f"No model is listed. {machine_told(recording).words()}".strip(), "Load one and look again: kvlab probe.")
    found = room(recording)
    if found.available is None:
        record = "Record the machine's bytes beside it: kvlab probe reads what is available and swap; on a Mac also vm_stat or Activity Monitor's pane."
        return _machine_not_told(recording, record)
    if found.held is None:
        told = f"What the model takes is not told. {machine_told(recording).words()}".strip()
        return not_enough_data(QUESTION, told, "Record /api/ps beside it: kvlab probe.")
    lasting = found.budget_left + (found.live_left or 0)
    peak = lasting + (found.transient or 0)
    numbers: dict[str, Number] = {
        "available_bytes": found.available,
        "machine_bytes": found.total,
        "held_bytes": found.held,
        "budget_left_bytes": found.budget_left,
        "live_buffers_left_bytes": found.live_left,
        "prefill_transient_bytes": found.transient,
        "context_tokens": found.context,
        "still_to_come_bytes": peak,
        "swap_used_bytes": found.swap,
    }
    verdict = _verdict(found, lasting, peak)
    return _finding(verdict, _words(verdict, found, lasting, peak), numbers, _REFUTED_BY[verdict], _sure(found))


def _sure(found: Room) -> str:
    return "medium" if found.transient is not None and found.budget_was_read else "low"


def _machine_not_told(recording: Recording, record: str) -> Finding:
    peaks, machine = peaks_told(recording), machine_told(recording).words()
    lacks = f"What the machine has left is not told in bytes. {machine}" if machine else "What the machine has left is not told."
    thin = not_enough_data(QUESTION, f"{lacks} {peaks.words()}" if peaks else lacks, record)
    return thin if peaks is None else replace(thin, numbers=peaks.numbers())


def _verdict(found: Room, lasting: int, peak: int) -> str:
    available = found.available or 0
    if lasting > available or (found.swap or 0) > max(SWAPPED, available):
        return "does_not_fit"
    return "fits" if found.transient is not None and peak <= available else "needs_peak_forecast"


def _words(verdict: str, found: Room, lasting: int, peak: int) -> str:
    live = "" if found.live_left is None else f", {binary(found.live_left)} of live buffers for a context of {found.context}"
    come = f"{binary(found.budget_left)} of snapshots are left of the budget{live}"
    if not found.budget_was_read:
        come = f"up to {binary(found.budget_left)} of snapshots may still come (how full the budget is was not read){live}"
    have = f"the machine has {binary(found.available or 0)} available"
    if not found.was_read:
        most, held, total = (binary(count or 0) for count in (found.available, found.held, found.total))
        have = f"the machine's {total} less the {held} held leave {most} at most: what else runs was not read"
    if verdict == "fits":
        return f"{come[0].upper()}{come[1:]} and {binary(found.transient or 0)} for a prefill's moment: {binary(peak)}; {have}."
    if verdict == "does_not_fit":
        swapping = f" {binary(found.swap or 0)} are swapped out already." if (found.swap or 0) > SWAPPED else ""
        return f"{come[0].upper()}{come[1:]}: {binary(lasting)}; {have}.{swapping} A smaller budget, a shorter context or fewer models would."
    why = (
        "a prefill's transients are not known: give the model's config.json (--shape)"
        if found.transient is None
        else f"with {binary(found.transient)} for a prefill's moment it does not: shorter prompts will"
    )
    return f"{come[0].upper()}{come[1:]} fit ({binary(lasting)}; {have}), but {why}."


def _finding(verdict: str, summary: str, numbers: dict[str, Number], refuted_by: str, confidence: str) -> Finding:
    sure = "high" if confidence == "high" else "medium" if confidence == "medium" else "low"
    return Finding(QUESTION, verdict, summary, numbers, sure, (Evidence("observed", (dict(numbers),)),), refuted_by)


_REFUTED_BY = {
    "fits": "swapping during a request of that length while nothing else grows",
    "needs_peak_forecast": "the same with the model's shape",
    "does_not_fit": "a full budget and a full context without swapping",
}
