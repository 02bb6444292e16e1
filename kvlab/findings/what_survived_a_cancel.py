"""What survived a cancel: does a retry go on where the cancelled prefill stopped?

A cancelled request evaluated its prompt up to some token. Its retries are the later requests with as many prompt tokens that match that
far (or one token less: an older release left a draft layer one behind). One that restores that far resumes where it stopped; one that
restores less pays again for what the cancel lost.
"""

from __future__ import annotations

import polars as pl

from kvlab.findings.finding import Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.recording.facts import Facts

Q = Question("what_survived_a_cancel")


def what_survived_a_cancel(facts: Facts) -> Finding | None:
    """Answer whether retries of cancelled requests resumed where the cancel came; None when no request was cancelled."""
    cancelled = facts.requests.filter(pl.col("stop") == "cancelled")
    if cancelled.is_empty():
        return None
    # a log does not count the tokens of a reply that did not end
    stopped = cancelled.filter(pl.col("generated").fill_null(0) == 0)
    evaluated = facts.prefilled.join(stopped.select("request", "tokens"), on="request", how="inner")
    if evaluated.is_empty():
        why = Q.say("in_prefill" if stopped.height else "in_reply", request=(stopped if stopped.height else cancelled).item(0, "request"))
        return Q.open("cancelled_prefill", facts, why)
    pairs = (
        facts.requests.select("request", "tokens", "matched", "cached", "limiting_layer")
        .join(evaluated.rename({"request": "cancelled"}), on="tokens", how="inner")
        .filter((pl.col("request") > pl.col("cancelled")) & (pl.col("matched") >= pl.col("evaluated") - 1))
        .with_columns((pl.col("evaluated") - pl.col("cached")).clip(0).alias("lost"))
        .sort("request", "cancelled")
    )
    if pairs.is_empty():
        return Q.open("retry", facts)
    lost = pairs.filter(pl.col("lost") > 0)
    shown = lost if lost.height else pairs
    worst = shown.sort("lost", descending=True).row(0, named=True)
    verdict = "lost_by_cancel" if lost.height else "resumes_where_it_stopped"
    numbers: dict[str, Number] = {
        "cancelled_requests": stopped.height,
        "retries": pairs.height,
        "lost_tokens": int(pairs.get_column("lost").sum()),
        "worst_request": worst["request"],
        "worst_request_cached_tokens": worst["cached"],
    }
    evidence = Evidence("requests", tuple(shown.head(12).to_dicts()))
    return Q.found(verdict, Q.say(verdict, worst), numbers, "low" if facts.damaged else "high", evidence, refuted_by="retry")
