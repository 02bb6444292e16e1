"""Question 3: who holds it? Counted, retained, the pool, other caches, and what the process holds above all of that.

- Inside: of what snapshots retain, `pinned` is what the policy does not count; of what the allocator calls active, `unattributed` has no owner.
  Either growing from request to request (Theil-Sen, beyond what the allocator rounds up) is the verdict `leak`.
- From outside: counted and pool are those of a log, footprint - active is what the process holds above its arrays. Growing heap is `leak` too:
  somebody holds it, and it is not the cache.
- `adds_up`: neither grows.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.missing import how_to_record, unanswered
from kvlab.diagnose.paired_growth import paired_growth
from kvlab.diagnose.rounding import LEAST_REQUESTS, LEAST_SLOPE, beyond_rounding, growth_words
from kvlab.diagnose.trend import Slope, theil_sen
from kvlab.recording.facts import Facts, Owners, Values
from kvlab.recording.facts.parts import OTHER_CACHES
from kvlab.units import binary

QUESTION = "who_holds_it"

SHOWN = (
    *("weights", "live", "counted", "pinned", "unattributed", "pool", "active", "size", "footprint", "gpu", "heap", "mapped", "rss"),
    *(*OTHER_CACHES, "compute_buffer", "swapped", "container", "current", "gpu_used"),
)
"""The parts in the order in which they are shown."""

CONV_ROWS = 3
"""Rows of a convolution's input that its state is: one less than its kernel of four (every model of that kind so far)."""


def who_holds_it(facts: Facts) -> Finding:
    """Answer which owner holds the bytes, and whether what no owner answers for grows."""
    if len(facts.owners) >= LEAST_REQUESTS:
        return _inside(facts, facts.owners)
    pairs = paired_growth(facts)
    if pairs is not None:
        numbers = pairs.numbers() | _numbers(facts)
        return Finding(
            QUESTION,
            "leak",
            f"The process's own heap holds it. {pairs.words()}",
            numbers,
            pairs.confidence,
            (Evidence("observed", pairs.rows()),),
            pairs.refuted_by,
        )
    freed = _hot_cache_freed(facts)
    if freed is not None:
        return freed
    if not facts.parts.bytes:
        return unanswered(QUESTION, "owners", facts)
    return _outside(facts)


def _inside(facts: Facts, data: Owners) -> Finding:
    pinned, unattributed = data.pinned, data.unattributed
    if pinned is None or unattributed is None or data.active is None or data.snapshots is None:
        return unanswered(QUESTION, "owners", facts)
    rounded = beyond_rounding(facts, data, pinned)
    slopes = {"pinned": theil_sen(data.request, rounded), "unattributed": theil_sen(data.request, unattributed)}
    growths = {"pinned": (pinned, rounded), "unattributed": (unattributed, unattributed)}
    least = 0 if data.exact else LEAST_SLOPE
    growing = {name: slope for name, slope in slopes.items() if slope.low > least}
    numbers = _numbers(facts) | {f"{name}_slope_bytes_per_request": round(slope.value) for name, slope in slopes.items()}
    numbers |= {"requests": len(data), "largest_pinned_bytes": round(float(pinned.max()))} | _per_capture(facts)
    confidence: Confidence = "low" if facts.damaged or len(data) < 5 else "high" if len(data) >= 10 or data.exact else "medium"
    columns = {"request": data.request, "counted": data.counted, "snapshots": data.snapshots, "unattributed": unattributed, "active": data.active}
    rows = tuple({name: round(float(values[at])) for name, values in columns.items()} for at in sorted({0, len(data) // 2, len(data) - 1}))
    return Finding(
        question=QUESTION,
        verdict="leak" if growing else "adds_up",
        summary=_growing(growing, growths, facts) if growing else f"Every part has its owner: {_words(facts)}.",
        numbers=numbers,
        confidence=confidence,
        evidence=(Evidence("requests", rows),),
        refuted_by="the same requests with capture_as=compact and lifetimes=scopes, and the same growth"
        if growing
        else "pinned or unattributed bytes that grow during further requests",
    )


def _growing(growing: dict[str, Slope], values: dict[str, tuple[Values, Values]], facts: Facts) -> str:
    name = max(growing, key=lambda one: growing[one].value)
    whose = {
        "pinned": "Snapshots keep buffers alive that are bigger than what is counted: views of larger arrays",
        "unattributed": "Arrays that no owner names stay alive",
    }[name]
    total, beyond = values[name]
    return f"{whose}. {growth_words(name.capitalize(), total[-1], beyond[-1], growing[name].value, len(total))}. Of all: {_words(facts)}."


def _per_capture(facts: Facts) -> dict[str, Number]:
    """Return what a snapshot of a recurrent layer counts of its convolution's input, and how much buffer it keeps alive as a view; {} without views."""
    shape = facts.shape.value
    row = sum(group.conv_bytes_per_token for group in shape.groups) if shape is not None else 0
    views = facts.spans.filter((pl.col("state") == "view") & pl.col("node").is_not_null()).unique("snapshot")
    if views.is_empty() or not row:
        return {}
    kept = max(retained - counted for retained, counted in views.select("retained", "counted").iter_rows())
    return {"captures": views.height, "counted_per_capture_bytes": CONV_ROWS * row, "pinned_per_capture_bytes": kept + CONV_ROWS * row}


def _hot_cache_freed(facts: Facts) -> Finding | None:
    """Return that a cache in RAM was freed and the process holds as much as before; None where that was not recorded."""
    freed, held = facts.figures("hot_cache_freed"), facts.figures("current")
    total = int(freed["value"].sum()) if freed.height else 0
    if not total or held.height < 2:
        return None
    first, last = int(held.item(0, "value")), int(held.item(-1, "value"))
    if first - last >= total / 2:
        return None
    numbers: dict[str, Number] = {"hot_cache_freed_bytes": total, "first_bytes": first, "last_bytes": last} | _numbers(facts)
    words = (
        f"Not the hot cache: {binary(total)} of it were freed, and the process went from {binary(first)} to {binary(last)}. What took their place is in no "
        "figure: the live buffers of a prefill that runs, or the allocator's pool."
    )
    return not_enough_data(QUESTION, words, how_to_record("allocator", facts), ("allocator",)).with_figures(
        numbers, Evidence("observed", tuple(held.to_dicts()))
    )


def _outside(facts: Facts) -> Finding:
    held = facts.parts
    footprint, arrays, heap = held.get("footprint"), held.get("gpu") or held.get("active") or held.get("size"), held.get("heap")
    if footprint is not None and arrays is not None and heap is not None:
        rest = f" Of the footprint {binary(max(0, footprint - heap))} are the model's arrays, {binary(heap)} the process's own."
    elif footprint is not None and arrays is not None:
        rest = (
            f" The footprint is {binary(arrays - footprint)} less than the model takes: these processes are not charged with its arrays (on Linux, what a GPU "
            "holds), so their own heap cannot be told apart."
        )
    else:
        rest = " The process's footprint is missing, so its heap is not told apart." if footprint is None else ""
    verdict = "adds_up" if heap is not None and footprint is not None else "not_enough_data"
    record = f" {how_to_record('footprint', facts)}" if footprint is None else ""
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=f"As last read: {_words(facts)}.{rest} One moment shows who holds how much, not what grows.{record}",
        numbers=_numbers(facts),
        confidence="low",
        evidence=(Evidence("observed", ({name: held.bytes[name] for name in SHOWN if name in held.bytes},)),),
        refuted_by="a later reading in which heap or pool has grown and the listed size has not",
        missing=() if verdict == "adds_up" else ("footprint",) if footprint is None else ("longer",),
    )


def _numbers(facts: Facts) -> dict[str, Number]:
    return {f"{name}_bytes": facts.parts.bytes[name] for name in SHOWN if name in facts.parts.bytes}


def _words(facts: Facts) -> str:
    held = facts.parts.bytes
    return ", ".join(f"{name.replace('_', ' ')} {binary(held[name])}" for name in SHOWN if name in held)
