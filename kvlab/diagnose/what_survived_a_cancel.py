"""What survived a cancel: does a retry go on where the cancelled prefill stopped?

A cancelled request evaluated its prompt up to some token. Its retries are the later requests with as many prompt tokens that match that
far (or one token less: an older release left a draft layer one behind). One that restores that far resumes where it stopped; one that
restores less pays again for what the cancel lost.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding
from kvlab.diagnose.missing import unanswered
from kvlab.recording.facts import Facts

QUESTION = "what_survived_a_cancel"


def what_survived_a_cancel(facts: Facts) -> Finding | None:
    """Answer whether retries of cancelled requests resumed where the cancel came; None when no request was cancelled."""
    cancelled = facts.requests.filter(pl.col("stop") == "cancelled")
    if cancelled.is_empty():
        return None
    # a log does not count the tokens of a reply that did not end
    stopped = cancelled.filter(pl.col("generated").fill_null(0) == 0)
    evaluated = facts.prefilled.join(stopped.select("request", "tokens"), on="request", how="inner")
    if evaluated.is_empty():
        return unanswered(QUESTION, "cancelled_prefill", facts, _why_not(cancelled, stopped))
    pairs = (
        facts.requests.select("request", "tokens", "matched", "cached", "limiting_layer")
        .join(evaluated.rename({"request": "cancelled"}), on="tokens", how="inner")
        .filter((pl.col("request") > pl.col("cancelled")) & (pl.col("matched") >= pl.col("evaluated") - 1))
        .with_columns((pl.col("evaluated") - pl.col("cached")).clip(0).alias("lost"))
        .sort("request", "cancelled")
    )
    if pairs.is_empty():
        return unanswered(QUESTION, "retry", facts)
    lost = pairs.filter(pl.col("lost") > 0)
    shown = lost if lost.height else pairs
    worst = shown.sort("lost", descending=True).row(0, named=True)
    if lost.height:
        summary = (
            f"Request {worst['cancelled']} was cancelled at token {worst['evaluated']}; request {worst['request']} matched {worst['matched']} tokens "
            f"and restored {worst['cached']}: {worst['lost']} tokens were evaluated again."
        )
    else:
        summary = f"Request {worst['request']} restored {worst['cached']} tokens: all that request {worst['cancelled']} had evaluated when it was cancelled."
    return Finding(
        question=QUESTION,
        verdict="lost_by_cancel" if lost.height else "resumes_where_it_stopped",
        summary=summary,
        numbers={
            "cancelled_requests": stopped.height,
            "retries": pairs.height,
            "lost_tokens": int(pairs.get_column("lost").sum()),
            "worst_request": worst["request"],
            "worst_request_cached_tokens": worst["cached"],
        },
        confidence="low" if facts.damaged else "high",
        evidence=(Evidence("requests", tuple(shown.head(12).to_dicts())),),
        refuted_by="a retry of the same prompt that restores another number of tokens than the cancelled request had evaluated",
    )


def _why_not(cancelled: pl.DataFrame, stopped: pl.DataFrame) -> str:
    if stopped.height:
        return f"Request {stopped.item(0, 'request')} was cancelled; how far its prompt had been evaluated was not recorded (the log at OLLAMA_DEBUG=2 has it)."
    return f"Request {cancelled.item(0, 'request')} was cancelled in its reply, after its prefill."
