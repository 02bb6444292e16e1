"""Question 2: why was my match not reused?

Every request has its reason (kvlab.events.REASONS). The recording's verdict is that of the limiting case: among the requests that had
to evaluate again what once was there, the reason that cost the most tokens. If none had to, `reused_in_full` when any request
shared something, else `nothing_shared`. A full match leaves one token to evaluate, and counts as reused in full.

For the request that lost most, the restore point that it used and the one that would have helped are named, and the kind
of layer: as recorded, else from the model's shape, else the kinds that can be limited so at all. A log's warning that all caches were freed
says at which offset the layers were; the trie is kept, so what is listed as the model's size does not fall.
Where a server reports what was restored and not what matched, the restored tokens are taken for the match: only that nothing was restored is then certain.

What a restore point or a layer cost is matched - cached. What eviction cost is known only up to a bound: the request went on into
a branch that is gone, so of the tokens it left any number may have been there.

Restore points (facts of Ollama's MLX runner, in the policy's words): a whole state is stored at every multiple of `capture_grid` of a cold prompt, at
`capture_before_end` tokens before a prompt's end, where an earlier request left the trie (its branch point), and where one ended. With a draft
head that looks one token ahead each lies one token lower. Full attention can be restored anywhere, so only whole states limit a restore.
A cache of whole entries (mlx-lm's) has no such points: an entry that is longer than the match must be rewound, which such layers refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from kvlab.findings.finding import Confidence, Evidence, Finding, Number, number_words
from kvlab.findings.question import LOGS, Question, capital
from kvlab.policy import Policy
from kvlab.recording.facts import Facts
from kvlab.shape import WHOLE_STATE, Shape

Q = Question("why_not_reused")


_OFFSET = re.compile(r"\(offset (\d+)\)")


def restore_points(row: dict[str, Any], earlier: Sequence[dict[str, Any]], shape: Shape | None, policy: Policy) -> dict[str, Number]:
    """Return where a request was restored and where it could have been, as the figures of a finding.

    `restore_point_used_is` is what put a state at the offset that was restored: `grid`, `before_prompt_end`, `end_of_a_request`, `branch_point`,
    `whole_entry`, `none` or `unknown`; `..._helped_is` what would have put one where it would have saved most: `grid` (one of the rules' own, which is
    not there any more), `before_prompt_end`, `at_the_match`. `refused_at_tokens` is where the layers were when a restore was refused and all of them were
    freed; `rewind_tokens` by how much the shortest whole entry that holds the match is longer, where the cache keeps whole entries.

    Args:
        row: Of `requests`, its `cached` below its `matched`.
        earlier: The rows before it.
        shape: The model's.
        policy: The rules.
    """
    matched, cached = int(row["matched"]), int(row["cached"])
    refused = next((match for words in row["warnings"] or () if (match := _OFFSET.search(words))), None)
    seen = cached or (int(refused[1]) if refused else 0)
    # where the shape is not known, a point one below the grid gives the look-ahead away
    ahead = shape.look_ahead if shape is not None else int(seen > 0 and (seen + 1) % policy.capture_grid == 0)
    whole = policy.store == "whole_entry_lru"
    used_is, (helps, helps_is) = _point_used(cached, earlier, policy, ahead), _point_that_helps(matched, cached, earlier, policy, ahead)
    if whole:
        ahead, used_is, helps, helps_is = 0, "whole_entry", matched, "at_the_match"
    numbers: dict[str, Number] = {
        "limiting_layer": str(row["limiting_layer"] or restored_only_at_points(shape)),
        "restore_point_used_tokens": cached,
        "restore_point_used_is": used_is,
        "restore_point_that_would_have_helped_tokens": helps,
        "restore_point_that_would_have_helped_is": helps_is,
        "spared_at_most_tokens": helps - cached,
        "look_ahead_tokens": ahead,
    }
    if refused:
        numbers["refused_at_tokens"] = int(refused[1])
    if whole:
        lengths = [length for one in earlier if (length := (one["tokens"] or 0) + (one["generated"] or 0)) > matched]
        numbers["rewind_tokens"] = min(lengths, default=matched) - matched
    return numbers


def _point_used(offset: int, earlier: Sequence[dict[str, Any]], policy: Policy, ahead: int) -> str:
    if not offset:
        return "none"
    ends = {int(one["tokens"]) for one in earlier if one["tokens"] is not None}
    if policy.capture_at == "grid" and (offset + ahead) % policy.capture_grid == 0:
        return "grid"
    if policy.capture_before_end and offset + ahead + policy.capture_before_end in ends:
        return "before_prompt_end"
    if any(one["tokens"] is not None and offset + 1 in (one["tokens"] + (one["generated"] or 0), one["tokens"]) for one in earlier):
        return "end_of_a_request"
    return "branch_point" if any(one["matched"] == offset for one in earlier) else "unknown"


def _point_that_helps(matched: int, cached: int, earlier: Sequence[dict[str, Any]], policy: Policy, ahead: int) -> tuple[int, str]:
    """Return the highest point that the rules would have had at or below the match, above what was used; the match itself when they have none."""
    points = {0: "none"}
    if policy.capture_at == "grid":
        points[(matched + ahead) // policy.capture_grid * policy.capture_grid - ahead] = "grid"
    for one in earlier:
        end = (one["tokens"] or 0) - policy.capture_before_end - ahead
        if policy.capture_before_end and cached < end <= matched:
            points[end] = "before_prompt_end"
    best = max(points)
    return (best, points[best]) if best > cached else (matched, "at_the_match")


def restored_only_at_points(shape: Shape | None) -> str:
    """Return the kinds of layer that can be restored only at a point, joined by ` or `; those of any model where the shape is not known."""
    kinds = sorted(WHOLE_STATE) if shape is None else [group.kind for group in shape.groups if group.kind in WHOLE_STATE]
    return " or ".join(dict.fromkeys(kinds))


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
    # the columns that are read: every filter copies those of its rows
    rows = facts.requests.select(*_COLUMNS, "generated", "warnings").filter(pl.col("cached").is_not_null())
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
