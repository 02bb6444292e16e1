"""Question 2: why was my match not reused?

Every request has its reason (kvlab.events.REASONS). The recording's verdict is that of the limiting case: among the requests that had
to evaluate again what once was there, the reason that cost the most tokens. If none had to, `reused_in_full` when any request
shared something, else `nothing_shared`. A full match leaves one token to evaluate, and counts as reused in full.

For the request that lost most, the restore point that it used and the one that would have helped are named (restore_points.py), and the kind
of layer: as recorded, else from the model's shape, else the kinds that can be limited so at all. A log's warning that all caches were freed
says at which offset the layers were; the trie is kept, so what is listed as the model's size does not fall.
Where a server reports what was restored and not what matched, the restored tokens are taken for the match: only that nothing was restored is then certain.

What a restore point or a layer cost is matched - cached. What eviction cost is known only up to a bound: the request went on into
a branch that is gone, so of the tokens it left any number may have been there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, number_words
from kvlab.diagnose.missing import LOGS, unanswered
from kvlab.diagnose.restore_points import restore_point, restored_only_at_points, words
from kvlab.recording.facts import Facts

QUESTION = "why_not_reused"
LOSSES = ("refused_by_layer", "evicted", "reuse_limited_by_restore_point")
"""The reasons for which tokens are evaluated again, the gravest first."""

LIMITED = ("refused_by_layer", "reuse_limited_by_restore_point")
"""The reasons that a restore point has to do with."""

FREE_ALL = "freeing all caches"
"""What a log's warning says when a restore was refused and all layers began anew."""

MOST_ROWS = 12
"""Rows of evidence at most."""

OTHER_CACHES = ("prompt_cache", "cache_entry", "similarity")
"""Gauges of a cache that is no trie."""

OTHER_LOGS = tuple(source for source in LOGS if source != "ollama-log")

MOST_EARLIER = 1000
"""Earlier requests among which the one is looked for that put a restore point there."""

_FREED = " All layers were freed after a refused restore and begin at 0; the trie and its snapshots stay, so the listed size does not fall."

_COLUMNS = ("request", "label", "tokens", "matched", "cached", "left", "reason", "limiting_layer")


def why_not_reused(facts: Facts) -> Finding:
    """Answer what kept the requests of a recording from reusing what the trie agreed with."""
    rows = facts.requests.filter(pl.col("cached").is_not_null())
    unmatched = rows.get_column("matched").is_null().any()
    rows = rows.with_columns(pl.coalesce("matched", "cached").alias("matched"))
    if rows.height < 2 and not rows.get_column("matched").sum():
        return _without_matches(facts, rows.height)
    rows = rows.with_columns(_reason()).with_columns(
        pl.when(pl.col("reason") == "evicted").then(pl.col("left")).otherwise(pl.col("matched") - pl.col("cached")).alias("lost"),
    )
    lost = {reason: int(rows.filter(pl.col("reason") == reason).get_column("lost").sum()) for reason in LOSSES}
    counts = {reason: rows.filter(pl.col("reason") == reason).height for reason in (*LOSSES, "reused_in_full", "nothing_shared")}
    present = [reason for reason in LOSSES if counts[reason]]
    verdict = max(present, key=lambda reason: lost[reason]) if present else "reused_in_full" if counts["reused_in_full"] else "nothing_shared"
    # those that cost most are first, in the evidence too
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
    point = _restore_point(facts, rows, worst, numbers) if verdict in LIMITED else ""
    freed = int(rows.get_column("warnings").list.eval(pl.element().str.contains(FREE_ALL, literal=True)).list.any().fill_null(value=False).sum())
    if freed:
        numbers["requests_that_freed_all_caches"] = freed
    none = unmatched and verdict == "nothing_shared"
    sure: Confidence = "low" if facts.damaged or none else "high" if facts.inside else "medium"
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=(_NOTHING if none else _SUMMARIES[verdict]).format(**numbers)
        + point
        + (_how_many(counts[verdict], numbers) if verdict in LOSSES else "")
        + (_FREED if freed else "")
        + f" Over all requests {numbers['cached_tokens']} of {numbers['prompt_tokens']} prompt tokens were cached.",
        numbers=numbers,
        confidence=sure,
        evidence=(Evidence("requests", tuple(decisive.head(MOST_ROWS).select(_COLUMNS).to_dicts())),),
        refuted_by=_REFUTED_BY[verdict],
    )


def _reason() -> pl.Expr:
    """Return the reason as it was recorded, else, as of a table, what the counts say: they show a restore point's limit, not what eviction took."""
    short = pl.when(pl.col("cached") < pl.min_horizontal("matched", pl.col("tokens") - 1)).then(pl.lit("reuse_limited_by_restore_point"))
    return pl.coalesce(pl.col("reason"), short.when(pl.col("matched") > 0).then(pl.lit("reused_in_full")).otherwise(pl.lit("nothing_shared"))).alias("reason")


def _without_matches(facts: Facts, matched: int) -> Finding:
    """Return the answer where requests' matches were not recorded: by a server's own count of hits, where it has one."""
    refused = facts.numbers("trim_refused")
    if refused:
        return _refused_rewind(facts, refused)
    hits, misses = (facts.observed.filter(gauge=gauge)["number"].drop_nulls() for gauge in ("cache_hits", "cache_misses"))
    if len(hits) and len(misses) and not hits[-1] and misses[-1]:
        numbers: dict[str, Number] = {"cache_hits": 0, "cache_misses": int(misses[-1])}
        grown = facts.figures("prompt_cache")["value"]
        if len(grown) > 1:
            numbers["store_growth_bytes"] = int(grown[-1] - grown[0])
        stored = f" while what it stores grew by {number_words('bytes', numbers['store_growth_bytes'])}" if "store_growth_bytes" in numbers else ""
        summary = f"Nothing was restored: {numbers['cache_misses']} misses and no hit{stored}. Whether the prompts share a beginning was not recorded."
        return Finding(
            QUESTION, "nothing_shared", summary, numbers, "low", (Evidence("observed", (dict(numbers),)),), "a hit among further requests of the kind"
        )
    lacks = "One request was matched; the first one has nothing to reuse." if matched else ""
    return unanswered(QUESTION, "matches", facts, lacks)


def _refused_rewind(facts: Facts, refused: list[float]) -> Finding:
    """Return the answer of a server that could not rewind its cache and cleared it."""
    verdict, layers = "reuse_limited_by_restore_point", restored_only_at_points(facts.shape.value)
    numbers: dict[str, Number] = {"rewinds_refused": len(refused), "refused_rewind_tokens": int(refused[-1]), "limiting_layer": layers}
    summary = (
        f"A rewind of {refused[-1]:.0f} tokens was refused and the whole cache cleared, so everything is evaluated again: layers of kind {layers} cannot be "
        "rewound past what they still hold."
    )
    evidence = Evidence("observed", tuple({"trim_refused": tokens} for tokens in refused[:MOST_ROWS]))
    return Finding(QUESTION, verdict, summary, numbers, "medium", (evidence,), _REFUTED_BY[verdict])


def _restore_point(facts: Facts, rows: pl.DataFrame, worst: dict[str, Any], numbers: dict[str, Number]) -> str:
    """Add the restore points of the request that lost most to the numbers, and return them in words."""
    policy = facts.policy.value
    earlier = rows.filter(pl.col("request") < worst["request"]).tail(MOST_EARLIER).select("tokens", "matched", "generated").to_dicts()
    point = restore_point(worst, earlier, facts.shape.value, policy)
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
    # another server's cache has no grid of ours, and what its points are was not recorded
    theirs = policy.store == "trie" and (facts.source in OTHER_LOGS or any(gauge in facts.gauges for gauge in OTHER_CACHES))
    longer = [int(tokens) - int(worst["matched"]) for tokens in facts.numbers("entry_tokens") if tokens > worst["matched"]]
    if theirs and longer:
        numbers["refused_rewind_tokens"] = min(longer)
        return f" {words(replace(point, rewind=min(longer)), policy)}"
    return whose if theirs else f" {words(point, policy)}{whose}"


def _how_many(count: int, numbers: dict[str, Number]) -> str:
    if count == 1:
        return " It is the only request that this happened to."
    shown = number_words("deciding_requests", numbers["deciding_requests"])
    return f" This happened to {count} requests: {shown}{' among them' if count > MOST_ROWS else ''}."


_NOTHING = "Nothing was restored in {requests} requests; what of their prompts matched was not recorded."
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
