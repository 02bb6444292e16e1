"""Question 8: why is it slow now: swapping, evaluating again what was there before, or a long reply?

- `swap`: swap grew during the recording, and where speeds are told, they fell with it; also by less, where the system tells that little is free.
- `re_prefill`: of all seconds told, at least `MUCH` went into tokens that had matched and were not restored.
- `long_decode`: at least `MUCH` went into replies. A prefill always stops one token before its end, so `total - 1` is a reply that runs,
  not a prefill that hangs.
Seconds are those of the recording; a run of the twin has none that mean anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.machine_told import LITTLE, MachineTold, machine_told
from kvlab.events import Warned
from kvlab.recording import Recording
from kvlab.units import GB, MIB, binary

QUESTION = "why_slow"

MUCH = 1 / 3
"""The share of all seconds from which on one reason is the answer; half for replies."""

SWAPPED = GB
"""Growth of swap from which on it is."""

SWAPPED_SHORT = 256 * MIB
"""The same where the system tells that little is free."""

LEAST_S = 1.0
"""Seconds in all below which nothing is slow."""

FELL = 0.7
"""A speed that is at most this share of the first one has fallen."""

_SWAP_NOTED = re.compile(r"\bswap(?:ping|ped)?(?: already| is)? (?:active|in use)|\bswapping\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Swap:
    machine: MachineTold
    speed_first: float | None
    speed_last: float | None

    @property
    def most(self) -> int:
        return max(self.machine.swap_grew, self.machine.swapped_out)

    @property
    def short(self) -> bool:
        return self.most >= SWAPPED_SHORT and self.machine.free_share is not None and self.machine.free_share <= LITTLE

    @property
    def fell(self) -> bool:
        return self.speed_first is not None and self.speed_last is not None and self.speed_last <= FELL * self.speed_first


def why_slow(recording: Recording) -> Finding:
    """Answer what took the time."""
    if recording.manifest.source == "twin":
        return not_enough_data(QUESTION, "A run of the twin has no seconds that mean anything.", "Record a real run, a log or a probe.")
    swap, rows = _swap(recording), _seconds(recording)
    prefill, decode, again, waited = (float(rows.get_column(name).sum() or 0) for name in ("prefill", "decode", "again", "waited"))
    total = prefill + decode + waited
    numbers: dict[str, Number] = {
        "requests": rows.height,
        "prefill_s": round(prefill, 2),
        "decode_s": round(decode, 2),
        "evaluated_again_s": round(again, 2),
        "waited_s": round(waited, 2),
        "evaluated_again_tokens": int(rows.get_column("lost").sum() or 0),
        "swap_growth_bytes": swap.machine.swap_grew,
        "swapped_out_bytes": swap.machine.swapped_out,
        "free_share": swap.machine.free_share,
        "first_decode_tokens_per_s": swap.speed_first,
        "last_decode_tokens_per_s": swap.speed_last,
    }
    evidence = (Evidence("requests", tuple(rows.sort("spent", descending=True).head(5).to_dicts())),)
    if (swap.most >= SWAPPED or swap.short) and (swap.fell or swap.speed_first is None):
        speed = f" Replies fell from {swap.speed_first:.4g} to {swap.speed_last:.4g} tokens/s with it." if swap.fell else ""
        out = f", {binary(swap.machine.swapped_out)} were swapped out meanwhile" if swap.machine.swapped_out else ""
        whose = "what the model holds" if recording.requests.height else "what runs on the machine"
        words = f"Swap grew by {binary(swap.machine.swap_grew)}{out}: {whose} no longer fits.{speed}"
        if swap.machine.free_share is not None:
            words = f"{words} {swap.machine.words()}"
        if not swap.fell:
            words += " No speeds are told beside it."
        sure = "high" if swap.fell else "medium" if swap.most >= SWAPPED else "low"
        return _finding("swap", words, numbers, sure, evidence)
    if total < LEAST_S:
        record = "Record seconds: the server's log at INFO with its times, or kvlab probe --workload."
        return not_enough_data(QUESTION, f"{total:.1f} s of prefill and reply are told, which is nothing to explain.{_noted(recording)}", record)
    waits = waited >= MUCH * total
    if not waits and again >= MUCH * total:
        words = (
            f"{again:.1f} of {total:.1f} s went into {numbers['evaluated_again_tokens']} tokens that had matched and were evaluated again; "
            "why_not_reused says which restore point was missing."
        )
        return _finding("re_prefill", words, numbers, "medium", evidence)
    if not waits and decode >= total / 2:
        slowest = rows.sort("decode", descending=True).row(0, named=True)
        words = (
            f"{decode:.1f} of {total:.1f} s went into replies, {slowest['decode'] or 0:.1f} s of it into request {slowest['request']} "
            f"({slowest['generated'] if slowest['generated'] is not None else 'an unknown number of'} tokens). "
            "A prefill that shows one token less than its total has ended: what follows is the reply."
        )
        return _finding("long_decode", words, numbers, "medium", evidence)
    lacks = f"{prefill:.1f} of {total:.1f} s went into prompts that were new: neither swap, nor tokens evaluated again, nor long replies explain it."
    record = "Record the same requests when they are fast, and compare."
    if waits:
        lacks, record = _waited_words(rows, waited, total), "Record the server's log beside it: kvlab probe --log server.log."
    finding = not_enough_data(QUESTION, lacks, record)
    return Finding(QUESTION, finding.verdict, finding.summary, numbers, "low", evidence, finding.refuted_by)


def _waited_words(rows: pl.DataFrame, waited: float, total: float) -> str:
    longest = rows.sort("waited", descending=True).row(0, named=True)
    return (
        f"{waited:.1f} of {total:.1f} s are in none of the server's own seconds, {longest['waited']:.1f} s of them in request {longest['request']}: it waited "
        "for others, the server was silent, or its answer came slowly. Neither swap, nor prompts, nor replies explain them."
    )


def _seconds(recording: Recording) -> pl.DataFrame:
    """Return a row a request: seconds of prefill and reply, and of the prefill those for tokens that had matched."""
    told = recording.observed.filter(pl.col("gauge") == "waited_s").group_by("request").agg(pl.col("number").sum().alias("waited"))
    rows = (
        recording.requests.join(told, on="request", how="left", maintain_order="left")
        .with_columns(
            pl.col("waited").fill_null(0),
            pl.coalesce("prefill_s", "ttft_s").fill_null(0).alias("prefill"),
            pl.col("decode_s").fill_null(0).alias("decode"),
            (pl.col("matched") - pl.col("cached")).clip(0).fill_null(0).alias("lost"),
        )
        .with_columns((pl.col("prefill") + pl.col("decode") + pl.col("waited")).alias("spent"))
    )
    share = pl.when(pl.col("left") > 0).then(pl.min_horizontal("lost", "left") / pl.col("left")).otherwise(0).fill_null(0)
    columns = ("request", "tokens", "matched", "cached", "left", "generated", "prefill", "decode", "waited", "spent", "lost")
    return rows.select(*columns, (pl.col("prefill") * share).alias("again"))


def _noted(recording: Recording) -> str:
    """Return what somebody wrote of swap beside a request's figures."""
    for request, message in recording.events.filter(pl.col("kind") == Warned.kind).select("request", "message").iter_rows():
        found = _SWAP_NOTED.search(message or "")
        if found:
            return f" Beside request {request} stands: {found[0]}."
    return ""


def _swap(recording: Recording) -> _Swap:
    observed = recording.observed
    speeds = observed.filter((pl.col("gauge") == "decode_tps") & (pl.col("request") > 0)).sort("request").get_column("number").drop_nulls().to_list()
    if not speeds:
        told = recording.requests.filter((pl.col("decode_s") > 0) & (pl.col("generated") > 1))
        speeds = told.select(pl.col("generated") / pl.col("decode_s")).to_series().to_list()
    return _Swap(machine_told(recording), float(speeds[0]) if len(speeds) > 1 else None, float(speeds[-1]) if len(speeds) > 1 else None)


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, evidence, _REFUTED_BY[verdict])


_REFUTED_BY = {
    "swap": "the same speeds after the model was loaded anew and nothing is swapped out",
    "re_prefill": "the same seconds when the match is restored in full",
    "long_decode": "the same seconds with a limit on new tokens",
}
