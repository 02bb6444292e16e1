"""Question 3: who holds it? Counted, retained, the pool, and what the process holds beside all of that.

- Inside: of what snapshots retain, `pinned` is what the policy does not count; of what the allocator calls active, `unattributed` has no owner.
  Either growing from request to request (Theil-Sen, beyond what the allocator rounds up) is the verdict `leak`.
- From outside: counted and pool are those of a log, footprint - active is what the process holds beside its arrays. Growing heap is `leak` too:
  somebody holds it, and it is not the cache.
- `adds_up`: neither grows.
"""

from __future__ import annotations

from kvlab.diagnose.budget_or_leak import LEAST_REQUESTS, LEAST_SLOPE, beyond_rounding, growth_words
from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.outside.heap import heap_growth
from kvlab.diagnose.parts import Parts, parts
from kvlab.diagnose.series import Series, series
from kvlab.diagnose.trend import Slope, Values, theil_sen
from kvlab.recording import Recording
from kvlab.units import binary

QUESTION = "who_holds_it"

SHOWN = ("weights", "live", "counted", "pinned", "unattributed", "pool", "active", "size", "footprint", "gpu", "heap", "mapped", "rss")
"""The parts in the order in which they are told."""


def who_holds_it(recording: Recording) -> Finding:
    """Answer which owner holds the bytes, and whether what no owner answers for grows."""
    held, data = parts(recording), series(recording)
    if len(data) >= LEAST_REQUESTS:
        return _inside(recording, data, held)
    heap = heap_growth(recording)
    if heap is not None:
        numbers = heap.numbers | _numbers(held)
        return Finding(QUESTION, "leak", f"The process's own heap holds it. {heap.summary}", numbers, heap.confidence, heap.evidence, heap.refuted_by)
    if len(held.bytes) < 2:
        return not_enough_data(
            QUESTION,
            "Fewer than two figures of different owners were read.",
            "Record /api/ps and the process's footprint together: kvlab probe --watch 60; on a Mac also `footprint PID`.",
        )
    return _outside(held)


def _inside(recording: Recording, data: Series, held: Parts) -> Finding:
    pinned, unattributed = data.snapshots - data.counted, data.unattributed
    rounded = beyond_rounding(recording, data, pinned)
    slopes = {"pinned": theil_sen(data.request, rounded), "unattributed": theil_sen(data.request, unattributed)}
    growths = {"pinned": (pinned, rounded), "unattributed": (unattributed, unattributed)}
    least = 0 if data.from_twin else LEAST_SLOPE
    growing = {name: slope for name, slope in slopes.items() if slope.low > least}
    numbers = _numbers(held) | {f"{name}_slope_bytes_per_request": round(slope.value) for name, slope in slopes.items()}
    numbers |= {"requests": len(data), "largest_pinned_bytes": round(float(pinned.max()))}
    confidence: Confidence = "low" if recording.damaged or len(data) < 5 else "high" if len(data) >= 10 or data.from_twin else "medium"
    places = sorted({0, len(data) // 2, len(data) - 1})
    rows = tuple(
        {"request": int(data.request[at]), "counted": round(float(data.counted[at])), "snapshots": round(float(data.snapshots[at]))}
        | {"unattributed": round(float(unattributed[at])), "active": round(float(data.active[at]))}
        for at in places
    )
    return Finding(
        question=QUESTION,
        verdict="leak" if growing else "adds_up",
        summary=_growing(growing, growths, held) if growing else f"Every part has its owner: {_told(held)}.",
        numbers=numbers,
        confidence=confidence,
        evidence=(Evidence("requests", rows),),
        refuted_by="the same requests with capture_as=compact and lifetimes=scopes, and the same growth"
        if growing
        else "pinned or unattributed bytes that grow during further requests",
    )


def _growing(growing: dict[str, Slope], values: dict[str, tuple[Values, Values]], held: Parts) -> str:
    name = max(growing, key=lambda one: growing[one].value)
    whose = {
        "pinned": "Snapshots keep buffers alive that are bigger than what is counted: views of larger arrays",
        "unattributed": "Arrays that no owner names stay alive",
    }[name]
    total, beyond = values[name]
    return f"{whose}. {growth_words(name.capitalize(), total[-1], beyond[-1], growing[name].value, len(total))}. Of all: {_told(held)}."


def _outside(held: Parts) -> Finding:
    footprint, beside = held.get("footprint"), held.get("gpu") or held.get("active") or held.get("size")
    heap = held.get("heap")
    if footprint is not None and beside is not None and heap is not None:
        rest = f" Of the footprint {binary(max(0, footprint - heap))} are the model's arrays, {binary(heap)} the process's own."
    elif footprint is not None and beside is not None:
        rest = (
            f" The footprint is {binary(beside - footprint)} less than the model takes: these processes are not charged with its arrays (on Linux, what a GPU "
            "holds), so their own heap cannot be told apart."
        )
    else:
        rest = " The process's footprint is missing, so its heap is not told apart." if footprint is None else ""
    return Finding(
        question=QUESTION,
        verdict="adds_up" if heap is not None and footprint is not None else "not_enough_data",
        summary=f"As last read: {_told(held)}.{rest} One moment shows who holds how much, not what grows."
        + ("" if footprint is not None else " Record kvlab probe --watch 60, or `footprint PID` beside it."),
        numbers=_numbers(held),
        confidence="low",
        evidence=(Evidence("observed", ({name: held.bytes[name] for name in SHOWN if name in held.bytes},)),),
        refuted_by="a later reading in which heap or pool has grown and the listed size has not",
    )


def _numbers(held: Parts) -> dict[str, Number]:
    return {f"{name}_bytes": held.bytes[name] for name in SHOWN if name in held.bytes}


def _told(held: Parts) -> str:
    return ", ".join(f"{name} {binary(held.bytes[name])}" for name in SHOWN if name in held.bytes)
