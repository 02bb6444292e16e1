"""Question 2: why was my match not reused?

Every request has its reason (kvlab.events.REASONS). The recording's verdict is that of the limiting case: among the requests that had
to evaluate again what once was there, the reason that cost the most tokens. If none had to, `reused_in_full` when any request
shared something, else `nothing_shared`. A full match leaves one token to evaluate, and counts as reused in full.

For the request that lost most, the restore point that it used and the one that would have helped are named (restore_points.py), and the kind
of layer: as recorded, else from the model's shape, else the kinds that can be limited so at all. A log's warning that all caches were freed
tells where the layers stood then; the trie is kept, so what is listed as the model's size does not fall.

What a restore point or a layer cost is matched - cached. What eviction cost is known only up to a bound: the request went on into
a branch that is gone, so of the tokens it left any number may have been there.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data, number_words
from kvlab.diagnose.known import OWN, policy_of, shape_of
from kvlab.diagnose.restore_points import restore_point, words
from kvlab.recording import Recording

QUESTION = "why_not_reused"
LOSSES = ("refused_by_layer", "evicted", "reuse_limited_by_restore_point")
"""The reasons for which tokens are evaluated again, the gravest first."""

LIMITED = ("refused_by_layer", "reuse_limited_by_restore_point")
"""The reasons that a restore point has to do with."""

FREE_ALL = "freeing all caches"
"""What a log's warning says when a restore was refused and all layers began anew."""

MOST_ROWS = 12
"""Rows of evidence at most."""

MOST_EARLIER = 1000
"""Earlier requests among which the one is looked for that put a restore point there."""

_FREED = " All layers were freed after a refused restore and begin at 0; the trie and its snapshots stay, so the listed size does not fall."

_COLUMNS = ("request", "label", "tokens", "matched", "cached", "left", "reason", "limiting_layer")


def why_not_reused(recording: Recording) -> Finding:
    """Answer what kept the requests of a recording from reusing what the trie agreed with."""
    rows = recording.requests.filter(pl.col("matched").is_not_null() & pl.col("cached").is_not_null())
    if rows.height < 2 and not rows.get_column("matched").sum():
        return not_enough_data(QUESTION, f"{rows.height} requests have been matched.", "Record at least 2 requests; the first one has nothing to reuse.")
    rows = rows.with_columns(_reason()).with_columns(
        pl.when(pl.col("reason") == "evicted").then(pl.col("left")).otherwise(pl.col("matched") - pl.col("cached")).alias("lost"),
    )
    lost = {reason: int(rows.filter(pl.col("reason") == reason).get_column("lost").sum()) for reason in LOSSES}
    counts = {reason: rows.filter(pl.col("reason") == reason).height for reason in (*LOSSES, "reused_in_full", "nothing_shared")}
    present = [reason for reason in LOSSES if counts[reason]]
    verdict = max(present, key=lambda reason: lost[reason]) if present else "reused_in_full" if counts["reused_in_full"] else "nothing_shared"
    # those that cost most stand first, in the evidence too
    decisive = rows.filter(pl.col("reason") == verdict).sort("lost", "matched", descending=True, maintain_order=True)
    worst = decisive.row(0, named=True) if decisive.height else {}
    numbers: dict[str, Number] = {
        "requests": rows.height,
        **{f"requests_{reason}": count for reason, count in counts.items()},
        "prompt_tokens": int(rows.get_column("tokens").sum()),
        "matched_tokens": int(rows.get_column("matched").sum()),
        "cached_tokens": int(rows.get_column("cached").sum()),
        "left_tokens": int(rows.get_column("left").sum()),
        "matched_not_cached_tokens": int((rows.get_column("matched") - rows.get_column("cached")).sum()),
        "evicted_tokens_at_most": lost["evicted"],
        "deciding_requests": decisive.head(MOST_ROWS).get_column("request").sort().to_list(),
        "worst_request": worst.get("request"),
        "worst_request_matched_tokens": worst.get("matched"),
        "worst_request_cached_tokens": worst.get("cached"),
        "worst_request_left_tokens": worst.get("left"),
        "limiting_layer": worst.get("limiting_layer") or "",
    }
    point = ""
    if verdict in LIMITED:
        point = _restore_point(recording, rows, worst, numbers)
    freed = int(rows.get_column("warnings").list.eval(pl.element().str.contains(FREE_ALL, literal=True)).list.any().fill_null(value=False).sum())
    if freed:
        numbers["requests_that_freed_all_caches"] = freed
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=_SUMMARIES[verdict].format(**numbers)
        + point
        + (_how_many(counts[verdict], numbers) if verdict in LOSSES else "")
        + (_FREED if freed else "")
        + f" Over all requests {numbers['cached_tokens']} of {numbers['prompt_tokens']} prompt tokens were cached.",
        numbers=numbers,
        confidence="low" if recording.damaged else "high" if recording.manifest.source in OWN else "medium",
        evidence=(Evidence("requests", tuple(decisive.head(MOST_ROWS).select(_COLUMNS).to_dicts())),),
        refuted_by=_REFUTED_BY[verdict],
    )


def _reason() -> pl.Expr:
    """Return the reason as it was told, else, as of a table, what the counts say: they show a restore point's limit, not what eviction took."""
    short = pl.when(pl.col("cached") < pl.min_horizontal("matched", pl.col("tokens") - 1)).then(pl.lit("reuse_limited_by_restore_point"))
    return pl.coalesce(pl.col("reason"), short.when(pl.col("matched") > 0).then(pl.lit("reused_in_full")).otherwise(pl.lit("nothing_shared"))).alias("reason")


def _restore_point(recording: Recording, rows: pl.DataFrame, worst: dict[str, Any], numbers: dict[str, Number]) -> str:
    """Add the restore points of the request that lost most to the numbers, and return them in words."""
    policy = policy_of(recording)
    earlier = rows.filter(pl.col("request") < worst["request"]).tail(MOST_EARLIER).select("tokens", "matched", "generated").to_dicts()
    point = restore_point(worst, earlier, shape_of(recording), policy)
    numbers["limiting_layer"] = point.layers
    numbers |= {
        "restore_point_used_tokens": point.used,
        "restore_point_used_is": point.used_is,
        "restore_point_that_would_have_helped_tokens": point.helps,
        "restore_point_that_would_have_helped_is": point.helps_is,
        "spared_at_most_tokens": point.spared,
        "look_ahead_tokens": point.look_ahead,
    }
    if point.refused_at is not None:
        numbers["refused_at_tokens"] = point.refused_at
    whose = "" if worst.get("limiting_layer") else f" Layers of kind {point.layers} can be restored only at such a point." if point.layers else ""
    return f" {words(point, policy)}{whose}"


def _how_many(count: int, numbers: dict[str, Number]) -> str:
    if count == 1:
        return " It is the only request that this happened to."
    shown = number_words("deciding_requests", numbers["deciding_requests"])
    return f" This happened to {count} requests: {shown}{' among them' if count > MOST_ROWS else ''}."


_SUMMARIES = {
    "reused_in_full": "What matched was restored: request {worst_request} matched {worst_request_matched_tokens} tokens and left {worst_request_left_tokens}.",
    "nothing_shared": "No request shared a beginning with an earlier one.",
    "reuse_limited_by_restore_point": (
        "Request {worst_request} matched {worst_request_matched_tokens} tokens, but the last point at which all layers can be restored was "
        "{worst_request_cached_tokens}; {worst_request_left_tokens} tokens were left to evaluate."
    ),
    "evicted": (
        "Request {worst_request} matched {worst_request_matched_tokens} tokens and went on as a branch did that eviction had taken; "
        "{worst_request_left_tokens} tokens were left to evaluate."
    ),
    "refused_by_layer": (
        "Request {worst_request} matched {worst_request_matched_tokens} tokens, but a {limiting_layer} layer refused the restore, which left "
        "{worst_request_cached_tokens}; {worst_request_left_tokens} tokens were left to evaluate."
    ),
}

_REFUTED_BY = {
    "reused_in_full": "a request that left more tokens than its prompt has beyond the match (one more on a full match)",
    "nothing_shared": "two prompts of the recording with the same first token",
    "reuse_limited_by_restore_point": "the same requests leaving as much when a restore point lies at the match, as a finer grid gives",
    "evicted": "the same requests leaving as much under a budget that never fills",
    "refused_by_layer": "the same requests leaving as much on a model without that kind of layer",
}
