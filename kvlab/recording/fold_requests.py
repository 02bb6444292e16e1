"""The table `requests`: a row a request.

Invariants: a row for every request that has any event, in the order of their numbers; what a request did not reach is null.
Bytes are those of its last observed `BytesRead` of phase close.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from kvlab.events import ChunkRan, Matched, Observed, RequestBegan, RequestClosed, TokenOut, Warned
from kvlab.recording.by_kind import EventTables
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
_AT_CLOSE = ("counted", "live", "snapshots", "active", "unattributed", "pool", "budget", "footprint", "nodes")


def fold_requests(events: EventTables) -> pl.DataFrame:
    """Return the table of requests, with `SCHEMA`."""
    requests = events.requests.to_frame()
    found = requests
    for part in (_began, _matched, _reported, _forwards, _closed, _bytes, _predicted, _warnings):
        rows = part(events)
        # what no event has stays one null; each part is joined alone, so that the wide table is not copied
        empty = (pl.lit(None, dtype).alias(name) for name, dtype in rows.schema.items() if name != "request")
        more = requests.join(rows, on="request", how="left", maintain_order="left").drop("request") if rows.height else None
        found = found.with_columns(empty) if more is None else found.hstack(more)
        del rows, more
    came = (pl.col("replied").fill_null(value=False)) | (pl.col("generated").fill_null(0) > 0) | (pl.col("ttft_s").fill_null(0) > 0)
    return found.with_columns(
        pl.when(came).then("left").when(pl.col("left").is_not_null()).then(pl.col("prefilled").fill_null(0)).alias("evaluated"),
        pl.when(pl.col("ttft_s") > 0).then("ttft_s").alias("ttft_s"),
        pl.when(came | (pl.col("decode_s") > 0)).then("decode_s").alias("decode_s"),
        pl.coalesce("began_tokens", "matched_tokens", "reported_tokens").alias("tokens"),
        pl.coalesce("closed_peak", "read_peak").alias("peak"),
        pl.col("warnings").fill_null(pl.lit([], SCHEMA["warnings"])),
    ).select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def _last(rows: pl.DataFrame, keep: Literal["first", "last"] = "last") -> pl.DataFrame:
    return rows.filter(_INSIDE).unique("request", keep=keep, maintain_order=True)


def _began(events: EventTables) -> pl.DataFrame:
    # a client learns from the answer how many tokens its prompt has
    tokens = pl.when(pl.col("tokens") > 0).then("tokens").alias("began_tokens")
    return _last(events.rows(RequestBegan, columns=("request", "label", "tokens")), "first").select("request", "label", tokens)


def _matched(events: EventTables) -> pl.DataFrame:
    rows = events.rows(Matched, columns=("request", "tokens", "matched", "cached", "left", "reason", "layer"))
    return _last(rows.rename({"tokens": "matched_tokens", "layer": "limiting_layer"}))


def _reported(events: EventTables) -> pl.DataFrame:
    rows = events.rows(Observed, columns=("request", "gauge", "number")).filter(pl.col("gauge") == "prompt_tokens")
    return _last(rows).select("request", pl.col("number").cast(pl.Int64).alias("reported_tokens"))


def _forwards(events: EventTables) -> pl.DataFrame:
    """Return how many prompt tokens the prefill of each request ran over, and whether a token came."""
    chunks = events.rows(ChunkRan, columns=("request", "start", "end")).filter(_INSIDE)
    ran = chunks.group_by("request").agg(prefilled=(pl.col("end") - pl.col("start")).sum())
    replied = events.rows(TokenOut, columns=("request",)).filter(_INSIDE).unique().with_columns(replied=True)
    return ran.join(replied, on="request", how="full", coalesce=True)


def _closed(events: EventTables) -> pl.DataFrame:
    rows = events.rows(RequestClosed, columns=("request", "generated", "stop", "ttft_s", "prefill_s", "decode_s", "peak", "text"))
    return _last(rows.rename({"peak": "closed_peak"}))


def _bytes(events: EventTables) -> pl.DataFrame:
    rows = observed(events, ("request", "phase", "weights", "peak", "paged_out", *_AT_CLOSE)).filter(pl.col("phase") == "close")
    retained = (pl.col("weights") + pl.col("live") + pl.col("snapshots")).alias("retained")
    return _last(rows).select("request", PAGED_OUT, *_AT_CLOSE, retained, pl.col("peak").alias("read_peak"))


def _predicted(events: EventTables) -> pl.DataFrame:
    last = _last(predicted(events, ("request", "counted", "paged_out", "live", "nodes"))).with_columns(PAGED_OUT)
    return last.select("request", pl.exclude("request").name.prefix("predicted_"))


def _warnings(events: EventTables) -> pl.DataFrame:
    return events.rows(Warned, columns=("request", "message")).filter(_INSIDE).group_by("request", maintain_order=True).agg(pl.col("message").alias("warnings"))
