"""The table `requests`: a row a request.

Invariants: a row for every request that has any event, in the order of their numbers; what a request did not reach is null.
Bytes are those of its last observed `BytesRead` of phase close.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import ChunkRan, Matched, Observed, RequestBegan, RequestClosed, TokenOut, Warned
from kvlab.recording.readings import PAGED_OUT, observed, predicted

SCHEMA: dict[str, pl.DataType] = {
    "request": pl.Int64(),
    "label": pl.String(),
    "tokens": pl.Int64(),
    "matched": pl.Int64(),
    "cached": pl.Int64(),
    "left": pl.Int64(),
    "evaluated": pl.Int64(),
    "reason": pl.String(),
    "limiting_layer": pl.String(),
    "generated": pl.Int64(),
    "stop": pl.String(),
    "ttft_s": pl.Float64(),
    "prefill_s": pl.Float64(),
    "decode_s": pl.Float64(),
    "peak": pl.Int64(),
    "nodes": pl.Int64(),
    "counted": pl.Int64(),
    "paged_out": pl.Int64(),
    "live": pl.Int64(),
    "snapshots": pl.Int64(),
    "retained": pl.Int64(),
    "active": pl.Int64(),
    "unattributed": pl.Int64(),
    "pool": pl.Int64(),
    "budget": pl.Int64(),
    "footprint": pl.Int64(),
    "predicted_counted": pl.Int64(),
    "predicted_paged_out": pl.Int64(),
    "predicted_live": pl.Int64(),
    "predicted_nodes": pl.Int64(),
    "warnings": pl.List(pl.String()),
    "text": pl.String(),
}
"""The columns of `requests`. `evaluated` are the prompt tokens that forwards ran over: all that were left once a token came, else those of the prefill so
far (so it is less than `left` for a request that was cancelled); `ttft_s` is null, and so is `decode_s`, where no token came. `retained` = weights + live +
snapshots; `counted` is what the budget sees, `paged_out` what the trie's snapshots count (the same unless the budget counts resident bytes); bytes are
whole bytes, `_s` are seconds."""

SECONDS = ("ttft_s", "prefill_s", "decode_s")

_INSIDE = pl.col("request") > 0


def fold_requests(events: pl.DataFrame) -> pl.DataFrame:
    """Return the table of requests, with `SCHEMA`."""
    table = events.select("request").filter(_INSIDE).unique().sort("request")
    parts = (_began(events), _matched(events), _reported(events), _forwards(events), _closed(events), _bytes(events), _predicted(events), _warnings(events))
    for part in parts:
        table = table.join(part, on="request", how="left", maintain_order="left")
    came = (pl.col("replied").fill_null(value=False)) | (pl.col("generated").fill_null(0) > 0) | (pl.col("ttft_s").fill_null(0) > 0)
    table = table.with_columns(
        pl.when(came).then("left").when(pl.col("left").is_not_null()).then(pl.col("prefilled").fill_null(0)).alias("evaluated"),
        pl.when(pl.col("ttft_s") > 0).then("ttft_s").alias("ttft_s"),
        pl.when(came | (pl.col("decode_s") > 0)).then("decode_s").alias("decode_s"),
        pl.coalesce("began_tokens", "matched_tokens", "reported_tokens").alias("tokens"),
        pl.coalesce("closed_peak", "read_peak").alias("peak"),
        pl.col("warnings").fill_null(pl.lit([], SCHEMA["warnings"])),
    )
    return table.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _of_kind(events: pl.DataFrame, kind: str) -> pl.DataFrame:
    # of one kind at a time: most events are of some request, and a second copy of them all would be held
    return events.filter(_INSIDE, pl.col("kind") == kind)


def _last(events: pl.DataFrame) -> pl.DataFrame:
    return events.unique("request", keep="last", maintain_order=True)


def _began(events: pl.DataFrame) -> pl.DataFrame:
    first = _of_kind(events, RequestBegan.kind).unique("request", keep="first", maintain_order=True)
    # a client learns from the answer how many tokens its prompt has
    return first.select("request", "label", pl.when(pl.col("tokens") > 0).then("tokens").alias("began_tokens"))


def _matched(events: pl.DataFrame) -> pl.DataFrame:
    return _last(_of_kind(events, Matched.kind)).select(
        "request", pl.col("tokens").alias("matched_tokens"), "matched", "cached", "left", "reason", pl.col("layer").alias("limiting_layer")
    )


def _reported(events: pl.DataFrame) -> pl.DataFrame:
    reported = _of_kind(events, Observed.kind).filter(pl.col("gauge") == "prompt_tokens")
    return _last(reported).select("request", pl.col("number").cast(pl.Int64).alias("reported_tokens"))


def _forwards(events: pl.DataFrame) -> pl.DataFrame:
    """Return how many prompt tokens the prefill of each request ran over, and whether a token came."""
    ran = events.select("request", "kind", "start", "end").filter(_INSIDE, pl.col("kind").is_in([ChunkRan.kind, TokenOut.kind]))
    chunk = pl.col("kind") == ChunkRan.kind
    return ran.group_by("request").agg(prefilled=(pl.col("end") - pl.col("start")).filter(chunk).sum(), replied=(~chunk).any())


def _closed(events: pl.DataFrame) -> pl.DataFrame:
    return _last(_of_kind(events, RequestClosed.kind)).select(
        "request", "generated", "stop", "ttft_s", "prefill_s", "decode_s", pl.col("peak").alias("closed_peak"), "text"
    )


def _bytes(events: pl.DataFrame) -> pl.DataFrame:
    at_close = observed(events).filter(_INSIDE, pl.col("phase") == "close")
    return _last(at_close).select(
        "request",
        "nodes",
        "counted",
        PAGED_OUT,
        "live",
        "snapshots",
        (pl.col("weights") + pl.col("live") + pl.col("snapshots")).alias("retained"),
        "active",
        "unattributed",
        "pool",
        "budget",
        "footprint",
        pl.col("peak").alias("read_peak"),
    )


def _predicted(events: pl.DataFrame) -> pl.DataFrame:
    last = _last(predicted(events).filter(_INSIDE)).with_columns(PAGED_OUT)
    return last.select("request", *(pl.col(name).alias(f"predicted_{name}") for name in ("counted", "paged_out", "live", "nodes")))


def _warnings(events: pl.DataFrame) -> pl.DataFrame:
    return _of_kind(events, Warned.kind).group_by("request").agg(pl.col("message").alias("warnings"))
