"""Room: what a model may still lawfully take, and what its machine still has. Bytes throughout; what is not known is None.

Still to come, by the rules: what its budget has left, live buffers up to a full context, and what a prefill of that length needs for a
moment. How full the budget is comes from what the cache counts, or from the weights and what is held now; without either all of it is taken
for unfilled, and `budget_was_read` says so. What the machine has: what the system calls available, or the share that it calls free, else all
of it less what is held.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.known import last, machine_bytes, policy_of, shape_of
from kvlab.diagnose.machine_told import machine_told
from kvlab.diagnose.parts import Parts, parts
from kvlab.diagnose.peak_transients import prefill_transient
from kvlab.importers.figures import read_figure
from kvlab.recording import Recording

AVAILABLE = ("available", "system_free")
"""Gauges of what can be had without swapping. The free pages of vm_stat are none: they leave out what the system would give back."""

MOST_CONTEXT = 2**24
"""Tokens of context that are believed; a pasted figure may be anything."""

_REFUSED = re.compile(r"model requires (?:more system memory \()?([\d.]+ [KMGT]?i?B)\)? (?:but only|than is available \()\s?([\d.]+ [KMGT]?i?B)")


@dataclass(frozen=True, slots=True)
class Room:
    """What may still come and what is left.

    Attributes:
        held: What the model takes now.
        base: What it takes without snapshots: weights, else what was listed first.
        budget: Of the snapshots.
        budget_left: What they have not used.
        budget_was_read: Whether what they use was read, or follows from the weights; else all of the budget may be filled already.
        live_left: What live buffers may still grow by, to a full context.
        transient: What the last forward of a prefill of a full context needs for a moment.
        context: Tokens of that context.
        total: All bytes of the machine.
        available: What it has left; where nobody read it, at most so much: all of it less what is held.
        was_read: Whether `available` was read.
        swap: Swap in use.
    """

    held: int | None
    base: int | None
    budget: int
    budget_left: int
    budget_was_read: bool
    live_left: int | None
    transient: int | None
    context: int | None
    total: int | None
    available: int | None
    was_read: bool
    swap: int | None


def room(recording: Recording) -> Room:
    """Return what a recording tells of it."""
    held, shape, policy = parts(recording), shape_of(recording), policy_of(recording)
    now = held.get("size") or _sum(held) or held.get("footprint")
    base = held.get("weights") or _first(recording) or (shape.weights_bytes if shape is not None else None) or None
    counted = held.get("counted")
    weights_known = bool(held.get("weights") or (shape is not None and shape.weights_bytes) or _loaded(recording))
    budget_was_read = counted is not None or (weights_known and now is not None)
    if counted is None:
        counted = max(0, now - base) if now is not None and base is not None else 0
    context = _context(recording) or (min(shape.context, MOST_CONTEXT) if shape is not None else 0) or None
    live_left = transient = None
    if shape is not None and context:
        live_left = max(0, shape.bytes_per_token * context - (held.get("live") or 0))
        transient = prefill_transient(shape, policy, context)
    available = next((found for gauge in AVAILABLE if (found := last(recording, gauge)) is not None), None)
    total = machine_bytes(recording)
    share = machine_told(recording).free_share
    if available is None and total is not None and share is not None:
        available = round(total * share)
    was_read = available is not None
    if available is None and total is not None and now is not None:
        used = last(recording, "memory_used")
        was_read = used is not None
        available = total - (used if used is not None else now)
    return Room(
        held=now,
        base=base,
        budget=policy.budget_bytes,
        budget_left=max(0, policy.budget_bytes - counted),
        budget_was_read=budget_was_read,
        live_left=live_left,
        transient=transient,
        context=context,
        total=total,
        available=available,
        was_read=was_read,
        swap=last(recording, "swap_used"),
    )


def refused(recording: Recording) -> tuple[int, int] | None:
    """Return the bytes that a server said a model needs and those it had, when it refused to load one; None when it did not."""
    for words in recording.events.filter(pl.col("kind") == "warned").get_column("message").drop_nulls():
        found = _REFUSED.search(words)
        figures = [read_figure(text) for text in found.groups()] if found else []
        if figures and all(figure is not None and figure.observed is not None for figure in figures):
            needs, has = (int(figure.observed or 0) for figure in figures if figure is not None)
            return needs, has
    return None


def _sum(held: Parts) -> int | None:
    if held.get("active") is not None:
        return (held.get("active") or 0) + (held.get("pool") or 0)
    names = ("weights", "live", "snapshots", "pool")
    return sum(held.bytes.get(name, 0) for name in names) if "weights" in held.bytes else None


def _first(recording: Recording) -> int | None:
    """Return the first size of the model that was listed or loaded: weights, mostly."""
    for gauge in ("size_vram", "size", "reported", "resident"):
        rows = recording.observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null())
        if rows.height:
            return int(rows.item(0, "value"))
    return _loaded(recording)


def _loaded(recording: Recording) -> int | None:
    loaded = recording.events.filter((pl.col("kind") == "loaded") & (pl.col("weights") > 0))
    return int(loaded.item(0, "weights")) if loaded.height else None


def none_listed(recording: Recording) -> bool:
    """Return whether a server was asked for its models and never listed one."""
    told = recording.events.filter(pl.col("kind") == "listed").get_column("count").drop_nulls()
    return bool(len(told)) and not (told > 0).any()


def _context(recording: Recording) -> int | None:
    told = recording.events.filter(pl.col("kind") == "listed").get_column("context").drop_nulls()
    asked = recording.observed.filter(pl.col("gauge").is_in(["asked_context", "num_ctx", "context"])).get_column("number").drop_nulls()
    found = [int(value) for value in (*told, *asked) if 0 < value <= MOST_CONTEXT]
    return max(found) if found else None
