"""Question 5: will the next request, or what this model may still take by the rules, fit this machine?

- `does_not_fit`: the server refused a load for it, the system killed the process, a request's peak is more than the machine has, or what the rules
  still allow is more than it has available.
- `fits`: budget left + live buffers to a full context + a prefill's transients are less than what is available.
- `needs_peak_forecast`: budget and live buffers fit, but what a prefill needs for a moment is not known (neither the model's shape nor a peak), or decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from kvlab.findings.finding import Confidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.importers.figures import read_figure
from kvlab.lab.peak_transients import prefill_transient
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.recording.facts.facts import MOST_CONTEXT
from kvlab.recording.facts.machine import Machine
from kvlab.units import GB, GIB, binary

Q = Question("will_it_fit")


KEPT_FREE = GIB // 4
"""A proposed budget is a whole number of these, so that a figure that is a little off does not pass the machine."""

SWAPPED = GB
"""Swap in use from which on a machine has no bytes to give away."""

_REFUSED = re.compile(r"model requires (?:more system memory \()?([\d.]+ [KMGT]?i?B)\)? (?:but only|than is available \()\s?([\d.]+ [KMGT]?i?B)")


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest peak of a recording's requests: its bytes, its request and its prompt tokens, with the lowest one; requests with a peak are counted."""

    bytes: int
    request: int
    tokens: int | None
    lowest: int
    lowest_tokens: int | None
    requests: int
    above_rest: int | None


@dataclass(frozen=True, slots=True)
class Room:
    """What may still come and what is left.

    Attributes:
        held: What the model takes now.
        base: What it takes without snapshots: the weights, else what was listed first.
        budget: Of the snapshots.
        budget_left: What they have not used.
        budget_was_read: Whether what they use was read, or follows from the weights; else all of the budget may be filled already.
        live: What live buffers hold now; 0 when that was not read.
        live_left: What they may still grow by, to a full context.
        transient: What the last forward of a prefill of a full context needs for a moment, or what the highest recorded peak needed beyond what stayed.
        context: Tokens of that context.
        machine: The machine's bytes.
        available: What it has left; where that was not read, at most so much: all of it less what is held.
        peak: The highest recorded peak.
    """

    held: int | None
    base: int | None
    budget: int
    budget_left: int
    budget_was_read: bool
    live: int
    live_left: int | None
    transient: int | None
    context: int | None
    machine: Machine
    available: int | None
    peak: Peak | None

    @property
    def lasting(self) -> int:
        """What may still come and stay: the budget's rest and live buffers."""
        return self.budget_left + (self.live_left or 0)

    @property
    def is_short(self) -> bool:
        """Whether that is more than the machine has available, or more is swapped out than it has; False where it is not known."""
        return self.available is not None and (self.lasting > self.available or (self.machine.swap_used or 0) > max(SWAPPED, self.available))

    @property
    def full(self) -> int | None:
        """What the model takes with a full budget and a full context; None when its base is not known."""
        return None if self.base is None else self.base + self.budget + self.live + (self.live_left or 0)

    @property
    def largest_budget(self) -> int | None:
        """The largest budget that leaves room for weights, live buffers and a prefill's moment; None when machine or base is not known."""
        if self.machine.total is None or self.base is None:
            return None
        return max(0, self.machine.total - self.base - self.live - (self.live_left or 0) - (self.transient or 0))

    @property
    def proposed_budget(self) -> int | None:
        """The largest budget, rounded down to `KEPT_FREE`; None when none leaves room."""
        return (self.largest_budget or 0) // KEPT_FREE * KEPT_FREE or None


def room(facts: Facts) -> Room:
    """Return what a recording's facts say of it."""
    held, shape, machine = facts.parts, facts.shape.value, facts.machine
    now, of_shape = held.held, _weights_of_shape(facts)
    # what was listed first may have snapshots in it already, so the shape's own weights count before it
    base = held.get("weights") or facts.loaded_weights or of_shape or facts.first_size
    counted = held.get("counted")
    budget_was_read = counted is not None or ((held.get("weights") or facts.loaded_weights or of_shape) is not None and now is not None)
    if counted is None:
        counted = max(0, now - base) if now is not None and base is not None else 0
    context, peak = _context(facts), highest_peak(facts)
    live_left = transient = None
    if shape is not None and context:
        live_left = max(0, shape.bytes_per_token * context - (held.get("live") or 0))
        transient = prefill_transient(shape, facts.policy.value, context)
    if peak is not None and peak.above_rest is not None:
        transient = max(transient or 0, peak.above_rest)
    available = machine.available
    if available is None and machine.total is not None and now is not None:
        available = machine.total - now
    return Room(
        held=now,
        base=base,
        budget=facts.budget.value,
        # nothing shows a cache that a budget could be of
        budget_left=0 if facts.budget.how == "unknown" else max(0, facts.budget.value - counted),
        budget_was_read=budget_was_read,
        live=held.get("live") or 0,
        live_left=live_left,
        transient=transient,
        context=context,
        machine=machine,
        available=available,
        peak=peak,
    )


def _context(facts: Facts) -> int | None:
    """Return the context that may come: as listed or sent, else of our own runs that of the longest request, else the model's whole one."""
    shape = facts.shape.value
    if facts.context is not None or shape is None:
        return facts.context
    longest = facts.requests.select((pl.col("tokens") + pl.col("generated").fill_null(0)).max()).item() if facts.inside else None
    return int(longest) if longest else min(shape.context, MOST_CONTEXT) or None


def _weights_of_shape(facts: Facts) -> int | None:
    """Return the weights of the model's shape, where what was listed first can be these and a cache: other files of a model have other weights."""
    shape, first = facts.shape.value, facts.first_size
    if shape is None or not shape.weights_bytes:
        return None
    # a print in whole GB may be up to one below
    least = shape.weights_bytes - GB
    most = shape.weights_bytes + facts.budget.value + shape.bytes_per_token * (facts.context or shape.context)
    return shape.weights_bytes if first is None or least <= first <= most else None


def highest_peak(facts: Facts) -> Peak | None:
    """Return the highest peak of the requests; None when none was recorded."""
    rows = facts.requests.select("request", "tokens", "peak", "active", "pool").filter(pl.col("peak") > 0).sort("peak", "request")
    if not rows.height:
        return None
    low, high = rows.row(0, named=True), rows.row(-1, named=True)
    rest = None if high["active"] is None else max(0, high["peak"] - high["active"])
    return Peak(high["peak"], high["request"], high["tokens"], low["peak"], low["tokens"], rows.height, rest)


def refused(facts: Facts) -> tuple[int, int] | None:
    """Return the bytes that a server said a model needs and those it had, when it refused to load one; None when it did not."""
    for _, words in facts.warnings:
        found = _REFUSED.search(words)
        figures = [read_figure(text) for text in found.groups()] if found else []
        if figures and all(figure is not None and figure.observed is not None for figure in figures):
            needs, has = (int(figure.observed or 0) for figure in figures if figure is not None)
            return needs, has
    return None


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
