"""Questions 3 and 9: who holds it, and do the parts add up? Counted, retained, the pool, other caches, and what the process holds above all of that.

- Inside: of what snapshots retain, `pinned` is what the policy does not count; of what the allocator calls active, `unattributed` has no owner.
  Either growing from request to request (Theil-Sen, beyond what the allocator rounds up) is the verdict `leak`.
- From outside: counted and pool are those of a log, footprint - active is what the process holds above its arrays. Growing heap is `leak` too:
  somebody holds it, and it is not the cache.
- `adds_up`: neither grows.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from kvlab.cache.check import TOLERANCE
from kvlab.findings.finding import OPEN, Confidence, Evidence, Finding, Number
from kvlab.findings.growth import LEAST_REQUESTS, Unnamed, unnamed
from kvlab.findings.paired_growth import paired_growth
from kvlab.findings.question import Question, how_to_record
from kvlab.recording.facts import Facts, Owners
from kvlab.recording.facts.parts import OTHER_CACHES
from kvlab.recording.readings import PAGED_OUT, observed
from kvlab.units import binary

Q, PARTS = Question("who_holds_it"), Question("do_the_parts_add_up")

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
        words, numbers = Q.say("heap", grew=pairs.words()), pairs.numbers() | _numbers(facts)
        return Q.found("leak", words, numbers, pairs.confidence, Evidence("observed", pairs.rows()), refuted_by="heap")
    return _hot_cache_freed(facts) or (_outside(facts) if facts.parts.bytes else Q.open("owners", facts))


def _inside(facts: Facts, data: Owners) -> Finding:
    pinned, unattributed = data.pinned, data.unattributed
    if pinned is None or unattributed is None or data.active is None or data.snapshots is None:
        return Q.open("owners", facts)
    both = [unnamed(facts, data, name, total) for name, total in (("pinned", pinned), ("unattributed", unattributed))]
    numbers = _numbers(facts) | {f"{one.name}_slope_bytes_per_request": round(one.slope.value) for one in both}
    numbers |= {"requests": len(data), "largest_pinned_bytes": round(float(pinned.max()))} | _per_capture(facts)
    sure: Confidence = "low" if facts.damaged or len(data) < 5 else "high" if len(data) >= 10 or data.exact else "medium"
    columns = {"request": data.request, "counted": data.counted, "snapshots": data.snapshots, "unattributed": unattributed, "active": data.active}
    rows = tuple({name: round(float(values[at])) for name, values in columns.items()} for at in sorted({0, len(data) // 2, len(data) - 1}))
    worst: Unnamed | None = max((one for one in both if one.leaks), key=lambda one: one.slope.value, default=None)
    words = Q.say("adds_up", parts=_words(facts)) if worst is None else Q.say(worst.name, growth=worst.words(), parts=_words(facts))
    return Q.found("leak" if worst else "adds_up", words, numbers, sure, Evidence("requests", rows))


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
    numbers: dict[str, Number] = {"hot_cache_freed_bytes": total, "first_bytes": first, "last_bytes": last}
    found = Q.open("allocator", facts, Q.say("hot_cache_freed", numbers))
    return found.with_figures(numbers | _numbers(facts), Evidence("observed", tuple(held.to_dicts())))


def _outside(facts: Facts) -> Finding:
    held = facts.parts
    footprint, arrays, heap = held.get("footprint"), held.get("gpu") or held.get("active") or held.get("size"), held.get("heap")
    rest = record = ""
    if footprint is None:
        rest, record = Q.say("no_footprint"), f" {how_to_record('footprint', facts)}"
    elif arrays is not None:
        bytes_of = {"arrays_bytes": max(0, footprint - (heap or 0)), "heap_bytes": heap, "less_bytes": arrays - footprint}
        rest = Q.say("not_charged" if heap is None else "split", bytes_of)
    evidence = Evidence("observed", ({name: held.bytes[name] for name in SHOWN if name in held.bytes},))
    verdict = "adds_up" if heap is not None and footprint is not None else OPEN
    found = Q.found(verdict, Q.say("one_moment", parts=_words(facts), rest=rest, record=record), _numbers(facts), "low", evidence, refuted_by="one_moment")
    return found if verdict != OPEN else replace(found, missing=("footprint",) if footprint is None else ("longer",))


def _numbers(facts: Facts) -> dict[str, Number]:
    return {f"{name}_bytes": facts.parts.bytes[name] for name in SHOWN if name in facts.parts.bytes}


def _words(facts: Facts) -> str:
    held = facts.parts.bytes
    return ", ".join(f"{name.replace('_', ' ')} {binary(held[name])}" for name in SHOWN if name in held)


_COLUMNS = ("request", "active", "retained", "unattributed", "counted")


def do_the_parts_add_up(facts: Facts) -> Finding:
    """Answer whether the owners' bytes add up to the allocator's count, and the snapshots' to what is counted."""
    rows = facts.requests.filter(pl.col("active").is_not_null() & pl.col("retained").is_not_null())
    if not rows.height:
        return PARTS.open("allocator", facts)
    rows = rows.with_columns((pl.col("active") - pl.col("retained")).alias("unattributed"))
    worst = rows.sort(pl.col("unattributed").abs(), descending=True, maintain_order=True).row(0, named=True)
    counted = _counted_by_snapshots(facts)
    gap: dict[str, int] = max(counted, key=lambda row: abs(row["difference"]), default={"request": 0, "difference": 0})
    is_whole = abs(worst["unattributed"]) <= TOLERANCE and gap["difference"] == 0
    numbers: dict[str, Number] = {
        "requests": rows.height,
        "tolerance_bytes": TOLERANCE,
        "largest_unattributed_bytes": worst["unattributed"],
        "largest_unattributed_at_request": worst["request"],
        "last_unattributed_bytes": rows.item(-1, "unattributed"),
        "requests_with_snapshots_summed": len(counted),
        "largest_counted_difference_bytes": gap["difference"],
        "largest_counted_difference_at_request": gap["request"] or None,
    }
    words = PARTS.say("summary", numbers, difference=gap["difference"])
    evidence = Evidence("requests", tuple(rows.filter(pl.col("request").is_in([worst["request"], gap["request"]])).select(_COLUMNS).to_dicts()))
    return PARTS.found("adds_up" if is_whole else "does_not_add_up", words, numbers, "low" if facts.damaged else "high" if counted else "medium", evidence)


def _counted_by_snapshots(facts: Facts) -> list[dict[str, int]]:
    """Return, a row a request, the counted bytes less the sum over the snapshots on nodes at that moment."""
    spans = facts.spans.filter(pl.col("node").is_not_null() & pl.col("counted").is_not_null())
    if not spans.height:
        return []
    closes = observed(facts.recording.tables).filter(pl.col("phase") == "close")
    # Bytes that come and go, summed up to each close: one sort instead of a pass over every snapshot for every request.
    came = spans.select(pl.col("born").alias("seq"), pl.col("counted").alias("change"))
    went = spans.filter(pl.col("died").is_not_null()).select(pl.col("died").alias("seq"), (-pl.col("counted")).alias("change"))
    changes = pl.concat([came, went]).sort("seq").with_columns(pl.col("change").cum_sum().alias("held"))
    changes = changes.unique("seq", keep="last", maintain_order=True).sort("seq")
    joined = closes.select("seq", "request", PAGED_OUT).sort("seq").join_asof(changes.select("seq", "held"), on="seq")
    last = joined.unique("request", keep="last", maintain_order=True)
    return last.select("request", (pl.col("paged_out") - pl.col("held").fill_null(0)).alias("difference")).to_dicts()
