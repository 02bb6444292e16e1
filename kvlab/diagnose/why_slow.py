"""Question 8: why is it slow now: swapping, evaluating again what was there before, or a long reply?

- `swap`: swap grew during the recording, and where speeds are told, they fell with it.
- `re_prefill`: of all seconds told, at least `MUCH` went into tokens that had matched and were not restored.
- `long_decode`: at least `MUCH` went into replies. A prefill always stops one token before its end, so `total - 1` is a reply that runs,
  not a prefill that hangs.
Seconds are those of the recording; a run of the twin has none that mean anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.recording import Recording
from kvlab.units import GB, binary

QUESTION = "why_slow"

MUCH = 1 / 3
"""The share of all seconds from which on one reason is the answer; half for replies."""

SWAPPED = GB
"""Growth of swap from which on it is."""

LEAST_S = 1.0
"""Seconds in all below which nothing is slow."""

FELL = 0.7
"""A speed that is at most this share of the first one has fallen."""


@dataclass(frozen=True, slots=True)
class _Swap:
    grew: int
    out: int
    speed_first: float | None
    speed_last: float | None

    @property
    def fell(self) -> bool:
        return self.speed_first is not None and self.speed_last is not None and self.speed_last <= FELL * self.speed_first


def why_slow(recording: Recording) -> Finding:
    """Answer what took the time."""
    if recording.manifest.source == "twin":
        return not_enough_data(QUESTION, "A run of the twin has no seconds that mean anything.", "Record a real run, a log or a probe.")
    swap, rows = _swap(recording), _seconds(recording)
    prefill, decode, again = (float(rows.get_column(name).sum() or 0) for name in ("prefill", "decode", "again"))
    total = prefill + decode
    numbers: dict[str, Number] = {
        "requests": rows.height,
        "prefill_s": round(prefill, 2),
        "decode_s": round(decode, 2),
        "evaluated_again_s": round(again, 2),
        "evaluated_again_tokens": int(rows.get_column("lost").sum() or 0),
        "swap_growth_bytes": swap.grew,
        "swapped_out_bytes": swap.out,
        "first_decode_tokens_per_s": swap.speed_first,
        "last_decode_tokens_per_s": swap.speed_last,
    }
    evidence = (Evidence("requests", tuple(rows.sort("spent", descending=True).head(5).to_dicts())),)
    if max(swap.grew, swap.out) >= SWAPPED and (swap.fell or swap.speed_first is None):
        speed = f" Replies fell from {swap.speed_first:.4g} to {swap.speed_last:.4g} tokens/s with it." if swap.fell else ""
        out = f", {binary(swap.out)} were swapped out meanwhile" if swap.out else ""
        words = f"Swap grew by {binary(swap.grew)}{out}: what the model holds no longer fits.{speed}"
        return _finding("swap", words, numbers, "high" if swap.fell else "medium", evidence)
    if total < LEAST_S:
        record = "Record seconds: the server's log at INFO with its times, or kvlab probe --workload."
        return not_enough_data(QUESTION, f"{total:.1f} s of prefill and reply are told, which is nothing to explain.", record)
    if again >= MUCH * total:
        words = (
            f"{again:.1f} of {total:.1f} s went into {numbers['evaluated_again_tokens']} tokens that had matched and were evaluated again; "
            "why_not_reused says which restore point was missing."
        )
        return _finding("re_prefill", words, numbers, "medium", evidence)
    if decode >= total / 2:
        slowest = rows.sort("decode", descending=True).row(0, named=True)
        words = (
            f"{decode:.1f} of {total:.1f} s went into replies, {slowest['decode'] or 0:.1f} s of it into request {slowest['request']} "
            f"({slowest['generated'] if slowest['generated'] is not None else 'an unknown number of'} tokens). "
            "A prefill that shows one token less than its total has ended: what follows is the reply."
        )
        return _finding("long_decode", words, numbers, "medium", evidence)
    lacks = f"{prefill:.1f} of {total:.1f} s went into prompts that were new: neither swap, nor tokens evaluated again, nor long replies explain it."
    finding = not_enough_data(QUESTION, lacks, "Record the same requests when they are fast, and compare.")
    return Finding(QUESTION, finding.verdict, finding.summary, numbers, "low", evidence, finding.refuted_by)


def _seconds(recording: Recording) -> pl.DataFrame:
    """Return a row a request: seconds of prefill and reply, and of the prefill those for tokens that had matched."""
    rows = recording.requests.with_columns(
        pl.coalesce("prefill_s", "ttft_s").fill_null(0).alias("prefill"),
        pl.col("decode_s").fill_null(0).alias("decode"),
        (pl.col("matched") - pl.col("cached")).clip(0).fill_null(0).alias("lost"),
    ).with_columns((pl.col("prefill") + pl.col("decode")).alias("spent"))
    share = pl.when(pl.col("left") > 0).then(pl.min_horizontal("lost", "left") / pl.col("left")).otherwise(0).fill_null(0)
    columns = ("request", "tokens", "matched", "cached", "left", "generated", "prefill", "decode", "spent", "lost")
    return rows.select(*columns, (pl.col("prefill") * share).alias("again"))


def _swap(recording: Recording) -> _Swap:
    observed = recording.observed
    used = observed.filter(pl.col("gauge") == "swap_used").get_column("value").drop_nulls()
    since = observed.filter(pl.col("gauge") == "swapped_out_since").unique("seq").get_column("value").drop_nulls()
    total = observed.filter(pl.col("gauge") == "swapped_out").get_column("value").drop_nulls()
    out = int(since.sum()) if len(since) else int(total[-1] - total[0]) if len(total) > 1 else 0
    speeds = observed.filter((pl.col("gauge") == "decode_tps") & (pl.col("request") > 0)).sort("request").get_column("number").drop_nulls().to_list()
    if not speeds:
        told = recording.requests.filter((pl.col("decode_s") > 0) & (pl.col("generated") > 1))
        speeds = told.select(pl.col("generated") / pl.col("decode_s")).to_series().to_list()
    grew = int(used[-1] - used[0]) if len(used) > 1 else 0
    return _Swap(max(0, grew), out, float(speeds[0]) if len(speeds) > 1 else None, float(speeds[-1]) if len(speeds) > 1 else None)


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, evidence, _REFUTED_BY[verdict])


_REFUTED_BY = {
    "swap": "the same speeds after the model was loaded anew and nothing is swapped out",
    "re_prefill": "the same seconds when the match is restored in full",
    "long_decode": "the same seconds with a limit on new tokens",
}
