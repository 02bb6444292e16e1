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

from typing import Any

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, number_words
from kvlab.diagnose.missing import LOGS
from kvlab.diagnose.question import Question, capital
from kvlab.diagnose.restore_points import restore_points, restored_only_at_points
from kvlab.policy import Policy
from kvlab.recording.facts import Facts

Q = Question("why_not_reused")

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
    words = Q.say("nothing_restored" if none else verdict, numbers) + point
    words += _how_many(counts[verdict], numbers) if verdict in LOSSES else ""
    words += (Q.say("all_freed") if freed else "") + Q.say("over_all", numbers)
    sure: Confidence = "low" if facts.damaged or none else "high" if facts.inside else "medium"
    return Q.found(verdict, words, numbers, sure, Evidence("requests", tuple(decisive.head(MOST_ROWS).select(_COLUMNS).to_dicts())))


def _reason() -> pl.Expr:
    """Return the reason as it was recorded, else, as of a table, what the counts say: they show a restore point's limit, not what eviction took."""
    short = pl.when(pl.col("cached") < pl.min_horizontal("matched", pl.col("tokens") - 1)).then(pl.lit("reuse_limited_by_restore_point"))
    return pl.coalesce(pl.col("reason"), short.when(pl.col("matched") > 0).then(pl.lit("reused_in_full")).otherwise(pl.lit("nothing_shared"))).alias("reason")


def _without_matches(facts: Facts, matched: int) -> Finding:
    """Return the answer where requests' matches were not recorded: by a server's own count of refused rewinds or of hits, where it has one."""
    refused = facts.numbers("trim_refused")
    numbers: dict[str, Number]
    if refused:
        layers = restored_only_at_points(facts.shape.value)
        numbers = {"rewinds_refused": len(refused), "refused_rewind_tokens": int(refused[-1]), "limiting_layer": layers}
        evidence = Evidence("observed", tuple({"trim_refused": tokens} for tokens in refused[:MOST_ROWS]))
        return Q.found("reuse_limited_by_restore_point", Q.say("rewind_refused", numbers), numbers, "medium", evidence)
    hits, misses, grown = facts.numbers("cache_hits"), facts.numbers("cache_misses"), facts.figures("prompt_cache")["value"]
    if hits and misses and not hits[-1] and misses[-1]:
        growth = int(grown[-1] - grown[0]) if len(grown) > 1 else None
        numbers = {"cache_hits": 0, "cache_misses": int(misses[-1]), "store_growth_bytes": growth}
        return Q.found("nothing_shared", Q.say("only_misses", numbers), numbers, "low", refuted_by="only_misses")
    return Q.open("matches", facts, Q.say("one_matched") if matched else "")


def _restore_point(facts: Facts, rows: pl.DataFrame, worst: dict[str, Any], numbers: dict[str, Number]) -> str:
    """Add the restore points of the request that lost most to the numbers, and return them in words."""
    policy = facts.policy.value
    earlier = rows.filter(pl.col("request") < worst["request"]).tail(MOST_EARLIER).select("tokens", "matched", "generated").to_dicts()
    points = restore_points(worst, earlier, facts.shape.value, policy)
    rewind = points.pop("rewind_tokens", None)
    numbers |= points
    whose = "" if worst.get("limiting_layer") or not points["limiting_layer"] else Q.say("only_at_points", numbers)
    # another server's cache has no grid of ours, and what its points are was not recorded
    if policy.store == "trie" and (facts.source in OTHER_LOGS or any(gauge in facts.gauges for gauge in OTHER_CACHES)):
        rewind = min((int(tokens) - int(worst["matched"]) for tokens in facts.numbers("entry_tokens") if tokens > worst["matched"]), default=None)
        if rewind is None:
            return whose
        numbers["refused_rewind_tokens"], whose = rewind, ""
    if rewind is not None:
        return Q.say("rewind", numbers, longer=Q.say("longer" if rewind else "no_state", rewind=rewind)) + whose
    return _point_words(numbers, policy) + whose


def _point_words(numbers: dict[str, Number], policy: Policy) -> str:
    """Return the point that was used and the one that would have helped, in words."""
    used_is, helps_is = numbers["restore_point_used_is"], numbers["restore_point_that_would_have_helped_is"]
    grid, ahead = policy.capture_grid, int(str(numbers["look_ahead_tokens"]))
    figures = numbers | {"grid": grid, "before": policy.capture_before_end, "times": (int(str(numbers["restore_point_used_tokens"])) + ahead) // grid}
    used, helps = Q.say(f"used_{used_is}", figures, ahead=ahead or None), Q.say(f"helps_{helps_is}", figures)
    past = helps_is == "at_the_match" and used_is == "grid" and policy.capture_before_end
    return Q.say("point", figures, used=capital(used), helps=helps, end=Q.say("past_the_match", figures) if past else "")


def _how_many(count: int, numbers: dict[str, Number]) -> str:
    shown = number_words("deciding_requests", numbers["deciding_requests"])
    return Q.say("only_one") if count == 1 else Q.say("how_many", count=count, shown=f"{shown}{' among them' if count > MOST_ROWS else ''}")
