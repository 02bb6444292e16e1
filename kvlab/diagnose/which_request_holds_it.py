"""Which request holds it? The snapshots that are alive at the end, by the request that took them; its verdict is that of the growth."""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.recording.extremes import smallest
from kvlab.recording.facts import Facts
from kvlab.units import binary

QUESTION = "which_request_holds_it"
MOST_ROWS = 12


def which_request_holds_it(facts: Facts, growth: Finding) -> Finding | None:
    """Answer which requests' snapshots are still alive; `growth` is the answer to budget_or_leak. None when snapshots were not recorded."""
    if facts.spans.is_empty():
        return None
    alive = facts.spans.filter(pl.col("died").is_null())
    if alive.is_empty():
        return unanswered(QUESTION, "snapshots", facts)
    held = (
        # a log has what is counted, not what it retains
        alive.with_columns(pl.coalesce("retained", "counted").alias("retained"))
        .group_by("request")
        .agg(pl.col("retained").sum(), pl.col("counted").sum(), pl.len().alias("snapshots"))
        .sort(["retained", "request"], descending=[True, False])
        .join(facts.requests.select("request", "label"), on="request", how="left")
    )
    total, first = int(held["retained"].sum()), held.row(0, named=True)
    numbers: dict[str, Number] = {
        "requests": facts.requests.height,
        "holding_requests": held.height,
        "retained_bytes": total,
        "largest_request": first["request"],
        "largest_request_bytes": first["retained"],
        "oldest_request": int(smallest(held["request"])),
    }
    return Finding(
        question=QUESTION,
        verdict=growth.verdict,
        summary=(
            f"{held.height} of {facts.requests.height} requests hold {binary(total)} of snapshots; request {first['request']} holds most, "
            f"{binary(first['retained'])}, and the oldest that holds any is request {numbers['oldest_request']}. The growth is {growth.verdict}."
        ),
        numbers=numbers,
        confidence=growth.confidence,
        evidence=(Evidence("spans", tuple(held.select("request", "label", "snapshots", "counted", "retained").head(MOST_ROWS).to_dicts())),),
        refuted_by="an eviction that takes those requests' nodes and lowers the bytes by another amount",
    )
