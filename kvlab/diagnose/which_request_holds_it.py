"""Which request holds it? The snapshots that are alive at the end, by the request that took them; its verdict is that of the growth."""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data
from kvlab.recording import Recording
from kvlab.recording.extremes import smallest
from kvlab.units import binary

QUESTION = "which_request_holds_it"
MOST_ROWS = 12


def which_request_holds_it(recording: Recording, growth: Finding) -> Finding:
    """Answer which requests' snapshots are still alive; `growth` is the answer to budget_or_leak."""
    alive = recording.spans.filter(pl.col("died").is_null())
    if alive.is_empty():
        return not_enough_data(QUESTION, "No snapshot is alive at the end.", "Record a run whose requests leave something behind.")
    held = (
        # a log tells what is counted, not what it retains
        alive.with_columns(pl.coalesce("retained", "counted").alias("retained"))
        .group_by("request")
        .agg(pl.col("retained").sum(), pl.col("counted").sum(), pl.len().alias("snapshots"))
        .sort(["retained", "request"], descending=[True, False])
        .join(recording.requests.select("request", "label"), on="request", how="left")
    )
    total, first = int(held["retained"].sum()), held.row(0, named=True)
    numbers: dict[str, Number] = {
        "requests": recording.requests.height,
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
            f"{held.height} of {recording.requests.height} requests hold {binary(total)} of snapshots; request {first['request']} holds most, "
            f"{binary(first['retained'])}, and the oldest that holds any is request {numbers['oldest_request']}. The growth is {growth.verdict}."
        ),
        numbers=numbers,
        confidence=growth.confidence,
        evidence=(Evidence("spans", tuple(held.select("request", "label", "snapshots", "counted", "retained").head(MOST_ROWS).to_dicts())),),
        refuted_by="an eviction that takes those requests' nodes and lowers the bytes by another amount",
    )
