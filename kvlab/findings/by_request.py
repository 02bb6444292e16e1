"""What single requests did to what is stored: which of them hold it, and what those that hit allocated. Both verdicts are that of the growth.

- Which request holds it? The snapshots that are alive at the end, by the request that took them.
- What did a hit allocate? A match shares tokens, not state: each request that goes its own way stores whole states whatever the match. A hit is a
  request that restored something; what hits store is bounded by the budget, too.
"""

from __future__ import annotations

import polars as pl

from kvlab.findings.finding import Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.recording.extremes import smallest
from kvlab.recording.facts import Facts

HOLDS, HIT, GROWTH = Question("which_request_holds_it"), Question("what_did_a_hit_allocate"), Question("growth")

MOST_ROWS = 12
"""Rows of evidence at most."""


def which_request_holds_it(facts: Facts, growth: Finding) -> Finding | None:
    """Answer which requests' snapshots are still alive; `growth` is the answer to budget_or_leak. None when snapshots were not recorded."""
    if facts.spans.is_empty():
        return None
    alive = facts.spans.filter(pl.col("died").is_null())
    if alive.is_empty():
        return HOLDS.open("snapshots", facts)
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
    evidence = Evidence("spans", tuple(held.select("request", "label", "snapshots", "counted", "retained").head(MOST_ROWS).to_dicts()))
    words = HOLDS.say("summary", numbers, growth=GROWTH.say(growth.verdict))
    return HOLDS.found(growth.verdict, words, numbers, growth.confidence, evidence, refuted_by="summary")


def what_did_a_hit_allocate(facts: Facts, growth: Finding) -> Finding | None:
    """Answer what requests that restored something stored anew; `growth` is the answer to budget_or_leak. None when no hit's bytes were read."""
    rows = facts.requests.with_columns((pl.col("snapshots") - pl.col("snapshots").shift(1)).alias("grown"))
    hits = rows.filter((pl.col("cached") > 0) & pl.col("snapshots").is_not_null())
    if hits.is_empty():
        return None
    best = hits.sort(pl.col("matched") / pl.col("tokens"), descending=True, maintain_order=True).row(0, named=True)
    states = facts.whole_states.join(hits.select("request"), on="request", how="right").fill_null(0)
    numbers: dict[str, Number] = {
        "hits": hits.height,
        "best_request": best["request"],
        "best_request_matched_tokens": best["matched"],
        "best_request_tokens": best["tokens"],
        "best_request_matched_percent": round(100 * best["matched"] / best["tokens"], 2),
        "growth_bytes_per_hit": _median(hits.get_column("grown").drop_nulls()),
        "whole_states_per_hit": _median(states.get_column("states")),
        "whole_state_bytes_per_hit": _median(states.get_column("state_bytes")),
    }
    stored = HIT.say("states" if numbers["whole_state_bytes_per_hit"] else "no_states", numbers)
    evidence = Evidence("requests", tuple(hits.select("request", "tokens", "matched", "cached", "counted", "grown").head(MOST_ROWS).to_dicts()))
    words = HIT.say("summary", numbers, stored=stored, growth=GROWTH.say(growth.verdict))
    return HIT.found(growth.verdict, words, numbers, growth.confidence, evidence, refuted_by="summary")


def _median(values: pl.Series) -> int | None:
    middle = values.median()
    return round(middle) if isinstance(middle, int | float) else None
