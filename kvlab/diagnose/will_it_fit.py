"""Question 5: will the next request, or what this model may still take by the rules, fit this machine?

- `does_not_fit`: the server refused a load for it, the system killed the process, a request's peak is more than the machine has, or what the rules
  still allow is more than it has available.
- `fits`: budget left + live buffers to a full context + a prefill's transients are less than what is available.
- `needs_peak_forecast`: budget and live buffers fit, but what a prefill needs for a moment is not known (neither the model's shape nor a peak), or decides.
"""

from __future__ import annotations

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.diagnose.room import SWAPPED, Peak, Room, highest_peak, refused, room
from kvlab.recording.facts import Facts
from kvlab.units import binary

QUESTION = "will_it_fit"

MOSTLY = 0.8
"""The share of a machine's pages that may not be paged out, from which on nothing more fits."""


def will_it_fit(facts: Facts) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer whether what may still come fits what the machine has left."""
    seen = _refusal(facts)
    if seen is not None:
        return seen
    if facts.none_listed:
        return unanswered(QUESTION, "loaded_model", facts, f"No model is listed. {facts.machine.words()}".strip())
    found = room(facts)
    if found.available is None:
        return _without_machine(facts)
    if found.held is None:
        return unanswered(QUESTION, "model_bytes", facts, f"The bytes that the model takes were not recorded. {facts.machine.words()}".strip())
    unknown, coming = facts.budget.how == "unknown", found.lasting + (found.transient or 0)
    numbers: dict[str, Number] = {
        "available_bytes": found.available,
        "machine_bytes": found.total,
        "held_bytes": found.held,
        "budget_left_bytes": None if unknown else found.budget_left,
        "live_buffers_left_bytes": found.live_left,
        "prefill_transient_bytes": found.transient,
        "context_tokens": found.context,
        "still_to_come_bytes": coming,
        "swap_used_bytes": found.swap,
    } | _peak_numbers(found.peak)
    if found.peak is not None and found.total is not None and found.peak.bytes > found.total:
        words = f"{peak_words(found.peak)} The machine has {binary(found.total)}: shorter prompts, a smaller budget or a smaller model would fit."
        return _finding("does_not_fit", words, numbers, "high" if facts.exact else "medium")
    if unknown:
        lacks = f"{binary(found.available)} are available, and {binary(found.held)} are held; nothing in the recording shows a prefix cache or its budget."
        return unanswered(QUESTION, "a_cache", facts, lacks).with_figures(numbers)
    fits = found.transient is not None and coming <= found.available
    verdict = "does_not_fit" if found.is_short else "fits" if fits else "needs_peak_forecast"
    sure: Confidence = "medium" if found.transient is not None and found.budget_was_read else "low"
    return _finding(verdict, _words(verdict, found, coming), numbers, sure)


def _refusal(facts: Facts) -> Finding | None:
    """Return the answer where the recording says outright that something did not fit."""
    said, gauges = refused(facts), facts.gauges
    if said is not None:
        needs, has = said
        numbers: dict[str, Number] = {"needs_bytes": needs, "available_bytes": has}
        return _finding("does_not_fit", f"The server refused a load: it needs {binary(needs)} and {binary(has)} were available.", numbers, "high", _LOAD)
    if "killed" in gauges:
        row = facts.observed.filter(gauge="killed").row(0, named=True)
        why = f"The system killed {row['label'] or 'a process'}: {row['words'] or 'no reason is recorded'}. {_pages(facts)}"
        return _finding("does_not_fit", why.strip(), {}, "high", "the same load going through on the same machine")
    limit = facts.last.get("hard_limit") or facts.last.get("ceiling")
    held = facts.figures("current")
    if limit is not None and held.height and int(held["value"].sort()[-1]) > limit:
        most = int(held["value"].sort()[-1])
        words = f"The process held {binary(most)}, more than the {binary(limit)} that its server allows it: requests are refused or aborted there."
        return _finding("does_not_fit", words, {"held_bytes": most, "limit_bytes": limit}, "medium", "the same requests under the same limit without a refusal")
    machine = facts.machine
    if machine.wired is not None and machine.wired_share is not None and machine.wired_share >= MOSTLY:
        share = f"{machine.wired_share:.0%}".replace("%", " %")
        whose = (
            ""
            if facts.models_listed or facts.requests.height
            else " No process in the recording holds them: after the server has ended, only a reboot frees them."
        )
        words = f"{binary(machine.wired)} of the machine's pages are wired, {share} of all that were counted: nothing more fits.{whose}"
        return _finding("does_not_fit", words, {"wired_bytes": machine.wired}, "medium", "a load going through while as many pages are wired")
    return None


def _without_machine(facts: Facts) -> Finding:
    peak, system = highest_peak(facts), facts.machine.words()
    lacks = "Free memory was not recorded in bytes." if system else "Free memory was not recorded."
    words = " ".join(part for part in (lacks, system, peak_words(peak) if peak else "") if part)
    return unanswered(QUESTION, "free_memory", facts, words).with_figures(_peak_numbers(peak))


def peak_words(peak: Peak) -> str:
    """Return a sentence of the highest recorded peak."""
    high, low = (f" at {tokens:,} prompt tokens" if tokens else "" for tokens in (peak.tokens, peak.lowest_tokens))
    rise = f", from {binary(peak.lowest)}{low}" if peak.requests > 1 else ""
    return f"The highest peak is {binary(peak.bytes)}{high} (request {peak.request}){rise}: a machine needs that much for a moment."


def _peak_numbers(peak: Peak | None) -> dict[str, Number]:
    if peak is None:
        return {}
    return {
        "highest_peak_bytes": peak.bytes,
        "highest_peak_tokens": peak.tokens,
        "highest_peak_request": peak.request,
        "lowest_peak_bytes": peak.lowest,
    }


def _words(verdict: str, found: Room, coming: int) -> str:
    swap = found.swap or 0
    live = "" if found.live_left is None else f", {binary(found.live_left)} of live buffers for a context of {found.context}"
    come = f"{binary(found.budget_left)} of snapshots are left of the budget{live}"
    if not found.budget_was_read:
        come = f"up to {binary(found.budget_left)} of snapshots may still come (how full the budget is was not read){live}"
    have = f"the machine has {binary(found.available or 0)} available"
    if not found.was_read:
        most, held, total = (binary(count or 0) for count in (found.available, found.held, found.total))
        have = f"the machine's {total} less the {held} held leave {most} at most: what else runs was not read"
    peak = f" {peak_words(found.peak)}" if found.peak is not None else ""
    start = f"{come[0].upper()}{come[1:]}"
    if verdict == "fits":
        return f"{start} and {binary(found.transient or 0)} for a prefill's moment: {binary(coming)}; {have}.{peak}"
    if verdict == "does_not_fit":
        swapping = f" {binary(swap)} are swapped out already." if swap > SWAPPED else ""
        return f"{start}: {binary(found.lasting)}; {have}.{swapping} A smaller budget, a shorter context or fewer models would.{peak}"
    why = (
        "a prefill's transients are not known: give the model's config.json (--shape)"
        if found.transient is None
        else f"with {binary(found.transient)} for a prefill's moment it does not: shorter prompts will"
    )
    return f"{start} fit ({binary(found.lasting)}; {have}), but {why}.{peak}"


def _pages(facts: Facts) -> str:
    read = [f"{name.replace('_', ' ')} {binary(facts.last[name])}" for name in ("free", "active_pages", "wired", "compressor") if name in facts.last]
    return f"It had {', '.join(read)} then." if read else ""


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence, refuted_by: str = "") -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, (Evidence("observed", (dict(numbers),)),), refuted_by or _REFUTED_BY[verdict])


_LOAD = "the same load going through while the same models stay loaded"
_REFUTED_BY = {
    "fits": "swapping during a request of that length while nothing else grows",
    "needs_peak_forecast": "the same with the model's shape",
    "does_not_fit": "a full budget and a full context without swapping",
}
