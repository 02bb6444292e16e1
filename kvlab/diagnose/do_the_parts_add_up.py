"""Question 9: do the parts add up? Every active byte has an owner, and every counted byte a snapshot.

- The allocator's active bytes equal weights + live + snapshots within `kvlab.cache.check.TOLERANCE` bytes after every request.
- The counted bytes at each request's end equal the sum over the snapshots alive then (where the recording has snapshots).
"""

from __future__ import annotations

import polars as pl

from kvlab.cache.check import TOLERANCE
from kvlab.diagnose.finding import Evidence, Finding, Number
from kvlab.diagnose.question import Question
from kvlab.recording.facts import Facts
from kvlab.recording.readings import PAGED_OUT, observed

Q = Question("do_the_parts_add_up")
_COLUMNS = ("request", "active", "retained", "unattributed", "counted")


def do_the_parts_add_up(facts: Facts) -> Finding:
    """Answer whether the owners' bytes add up to the allocator's count, and the snapshots' to what is counted."""
    rows = facts.requests.filter(pl.col("active").is_not_null() & pl.col("retained").is_not_null())
    if not rows.height:
        return Q.open("allocator", facts)
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
    words = Q.say("summary", numbers, difference=gap["difference"])
    evidence = Evidence("requests", tuple(rows.filter(pl.col("request").is_in([worst["request"], gap["request"]])).select(_COLUMNS).to_dicts()))
    return Q.found("adds_up" if is_whole else "does_not_add_up", words, numbers, "low" if facts.damaged else "high" if counted else "medium", evidence)


def _counted_by_snapshots(facts: Facts) -> list[dict[str, int]]:
    """Return, a row a request, the counted bytes less the sum over the snapshots on nodes at that moment."""
    spans = facts.spans.filter(pl.col("node").is_not_null() & pl.col("counted").is_not_null())
    if not spans.height:
        return []
    closes = observed(facts.recording.events).filter(pl.col("phase") == "close")
    # Bytes that come and go, summed up to each close: one sort instead of a pass over every snapshot for every request.
    came = spans.select(pl.col("born").alias("seq"), pl.col("counted").alias("change"))
    went = spans.filter(pl.col("died").is_not_null()).select(pl.col("died").alias("seq"), (-pl.col("counted")).alias("change"))
    changes = pl.concat([came, went]).sort("seq").with_columns(pl.col("change").cum_sum().alias("held"))
    changes = changes.unique("seq", keep="last", maintain_order=True).sort("seq")
    joined = closes.select("seq", "request", PAGED_OUT).sort("seq").join_asof(changes.select("seq", "held"), on="seq")
    last = joined.unique("request", keep="last", maintain_order=True)
    return last.select("request", (pl.col("paged_out") - pl.col("held").fill_null(0)).alias("difference")).to_dicts()
