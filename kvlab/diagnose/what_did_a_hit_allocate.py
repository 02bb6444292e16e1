"""What did a hit allocate? A match shares tokens, not state: each request that goes its own way stores whole states whatever the match.

A hit is a request that restored something. Its verdict is that of the growth (budget_or_leak): what hits store is bounded by the budget too.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number
from kvlab.recording.facts import Facts
from kvlab.units import binary

QUESTION = "what_did_a_hit_allocate"
MOST_ROWS = 12


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
    return Finding(
        question=QUESTION,
        verdict=growth.verdict,
        summary=_summary(numbers, growth.verdict),
        numbers=numbers,
        confidence=growth.confidence,
        evidence=(Evidence("requests", tuple(hits.select("request", "tokens", "matched", "cached", "counted", "grown").head(MOST_ROWS).to_dicts())),),
        refuted_by="hits that store nothing on a model with whole-state layers, or growth that follows the tokens that did not match",
    )


def _median(values: pl.Series) -> int | None:
    middle = values.median()
    return round(middle) if isinstance(middle, int | float) else None


def _summary(numbers: dict[str, Number], verdict: str) -> str:
    matched = f"Request {numbers['best_request']} matched {numbers['best_request_matched_percent']} % of its tokens"
    states, taken, grown = (numbers[name] for name in ("whole_states_per_hit", "whole_state_bytes_per_hit", "growth_bytes_per_hit"))
    stored = f"a hit takes {states} whole states of {binary(taken)} together" if isinstance(taken, int) and taken else "a hit takes no whole state"
    left = f"; of what is stored, {binary(grown)} more than before stay" if isinstance(grown, int) else ""
    return f"{matched}, but a match shares tokens, not state: {stored}{left}. The growth is {verdict}."
