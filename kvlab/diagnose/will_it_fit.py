"""Question 5: will the next request, or what this model may still take by the rules, fit this machine?

- `does_not_fit`: the server refused a load for it, the system killed the process, a request's peak is more than the machine has, or what the rules
  still allow is more than it has available.
- `fits`: budget left + live buffers to a full context + a prefill's transients are less than what is available.
- `needs_peak_forecast`: budget and live buffers fit, but what a prefill needs for a moment is not known (neither the model's shape nor a peak), or decides.
"""

from __future__ import annotations

from kvlab.diagnose.finding import Confidence, Finding, Number
from kvlab.diagnose.question import Question
from kvlab.diagnose.room import SWAPPED, Peak, Room, refused, room
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.units import binary

Q = Question("will_it_fit")

MOSTLY = 0.8
"""The share of a machine's pages that may not be paged out, from which on nothing more fits."""


def will_it_fit(facts: Facts) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer whether what may still come fits what the machine has left."""
    seen = _refusal(facts)
    if seen is not None:
        return seen
    found, system = room(facts), facts.machine.words()
    if facts.none_listed:
        return Q.open("loaded_model", facts, Q.say("none_listed", system=system).strip())
    if found.available is None:
        peak = f" {_peak_words(found.peak)}" if found.peak else ""
        words = Q.say("no_machine_in_bytes" if system else "no_machine", system=system, peak=peak)
        return Q.open("free_memory", facts, words).with_figures(_peak_numbers(found.peak))
    if found.held is None:
        return Q.open("model_bytes", facts, Q.say("no_held", system=system).strip())
    unknown, coming = facts.budget.how == "unknown", found.lasting + (found.transient or 0)
    numbers: dict[str, Number] = {
        "available_bytes": found.available,
        "machine_bytes": found.machine.total,
        "held_bytes": found.held,
        "budget_left_bytes": None if unknown else found.budget_left,
        "live_buffers_left_bytes": found.live_left,
        "prefill_transient_bytes": found.transient,
        "context_tokens": found.context,
        "still_to_come_bytes": coming,
        "swap_used_bytes": found.machine.swap_used,
    } | _peak_numbers(found.peak)
    if found.peak is not None and found.machine.total is not None and found.peak.bytes > found.machine.total:
        words = Q.say("peak_too_high", numbers, peak=_peak_words(found.peak))
        return Q.found("does_not_fit", words, numbers, "high" if facts.exact else "medium")
    if unknown:
        return Q.open("a_cache", facts, Q.say("no_cache", numbers)).with_figures(numbers)
    fits = found.transient is not None and coming <= found.available
    verdict = "does_not_fit" if found.is_short else "fits" if fits else "needs_peak_forecast"
    sure: Confidence = "medium" if found.transient is not None and found.budget_was_read else "low"
    return Q.found(verdict, _words(verdict, found, numbers), numbers, sure)


def _refusal(facts: Facts) -> Finding | None:
    """Return the answer where the recording says outright that something did not fit."""
    said = refused(facts)
    if said is not None:
        numbers: dict[str, Number] = {"needs_bytes": said[0], "available_bytes": said[1]}
        return Q.found("does_not_fit", Q.say("refused", numbers), numbers, "high", refuted_by="refused")
    if "killed" in facts.gauges:
        row = facts.observed.filter(gauge="killed").row(0, named=True)
        pages = [f"{name.replace('_', ' ')} {binary(facts.last[name])}" for name in ("free", "active_pages", "wired", "compressor") if name in facts.last]
        had = Q.say("pages", pages=", ".join(pages)) if pages else ""
        words = Q.say("killed", process=row["label"] or "a process", why=row["words"] or "no reason is recorded", pages=had)
        return Q.found("does_not_fit", words.strip(), {}, "high", refuted_by="killed")
    limit, most = facts.last.get("hard_limit") or facts.last.get("ceiling"), int(largest(facts.figures("current")["value"]))
    if limit is not None and most > limit:
        numbers = {"held_bytes": most, "limit_bytes": limit}
        return Q.found("does_not_fit", Q.say("limit", numbers), numbers, "medium", refuted_by="limit")
    machine = facts.machine
    if machine.wired is not None and machine.wired_share is not None and machine.wired_share >= MOSTLY:
        numbers = {"wired_bytes": machine.wired}
        whose = "" if facts.models_listed or facts.requests.height else Q.say("wired_by_none")
        words = Q.say("wired", numbers, share=f"{machine.wired_share:.0%}".replace("%", " %"), whose=whose)
        return Q.found("does_not_fit", words, numbers, "medium", refuted_by="wired")
    return None


def _peak_words(peak: Peak) -> str:
    """Return a sentence of the highest recorded peak."""
    low = Q.say("peak_low", low=peak.lowest_tokens or None)
    return Q.say("peak", _peak_numbers(peak), high=peak.tokens or None, rise_bytes=peak.lowest if peak.requests > 1 else None, low=low)


def _peak_numbers(peak: Peak | None) -> dict[str, Number]:
    if peak is None:
        return {}
    return {
        "highest_peak_bytes": peak.bytes,
        "highest_peak_tokens": peak.tokens,
        "highest_peak_request": peak.request,
        "lowest_peak_bytes": peak.lowest,
    }


def _words(verdict: str, found: Room, numbers: dict[str, Number]) -> str:
    return Q.say(
        verdict,
        numbers,
        come=Q.say("come" if found.budget_was_read else "come_at_most", numbers),
        have=Q.say("have" if found.machine.available is not None else "have_at_most", numbers),
        lasting_bytes=found.lasting,
        swapping=Q.say("swapping", numbers) if (found.machine.swap_used or 0) > SWAPPED else "",
        why=Q.say("transient_unknown" if found.transient is None else "transient_decides", numbers),
        peak=f" {_peak_words(found.peak)}" if found.peak is not None else "",
    )
