"""What survived a cancel: does a retry go on where the cancelled prefill stopped?

A cancelled request evaluated its prompt up to some token. Its retries are the later requests with as many prompt tokens that match that
far (or one token less: an older release left a draft layer one behind). One that restores that far resumes where it stopped; one that
restores less pays again for what the cancel lost.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, not_enough_data
from kvlab.recording import Recording

QUESTION = "what_survived_a_cancel"


def what_survived_a_cancel(recording: Recording) -> Finding:
    """Answer whether retries of cancelled requests resumed where the cancel came."""
    cancelled = recording.requests.filter(pl.col("stop") == "cancelled")
    # a log does not count the tokens of a reply that did not end
    stopped = cancelled.filter(pl.col("generated").fill_null(0) == 0)
    evaluated = (
        recording.events.filter(pl.col("kind") == "chunk_ran")
        .group_by("request")
        .agg(pl.col("end").max().alias("evaluated"))
        .join(stopped.select("request", "tokens"), on="request", how="inner")
    )
    if evaluated.is_empty():
        return _not_told(cancelled.get_column("request").to_list(), stopped.get_column("request").to_list())
    pairs = (
        recording.requests.select("request", "tokens", "matched", "cached", "limiting_layer")
        .join(evaluated.rename({"request": "cancelled"}), on="tokens", how="inner")
        .filter((pl.col("request") > pl.col("cancelled")) & (pl.col("matched") >= pl.col("evaluated") - 1))
        .with_columns((pl.col("evaluated") - pl.col("cached")).clip(0).alias("lost"))
        .sort("request", "cancelled")
    )
    if pairs.is_empty():
        missing = "No later request of the same length matched as far as a cancelled one had come."
        return not_enough_data(QUESTION, missing, "Ask the same prompt again after the cancel.")
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
        confidence="low" if recording.damaged else "high",
        evidence=(Evidence("requests", tuple(shown.head(12).to_dicts())),),
        refuted_by="a retry of the same prompt that restores another number of tokens than the cancelled request had evaluated",
    )


def _not_told(cancelled: list[int], before_a_token: list[int]) -> Finding:
    again = "one that asks the same again"
    if before_a_token:
        told = f"Request {before_a_token[0]} was cancelled; how far its prompt had been evaluated is not told."
        return not_enough_data(QUESTION, told, f"Record the server's log at TRACE (OLLAMA_DEBUG=2), and after the cancel {again}.")
    if cancelled:
        told = f"Request {cancelled[0]} was cancelled in its reply, after its prefill."
        return not_enough_data(QUESTION, told, f"Record a request that is cancelled while its prompt is evaluated, and {again}.")
    return not_enough_data(QUESTION, "No request was cancelled in its prefill.", f"Record a request that is cancelled, and {again}.")
