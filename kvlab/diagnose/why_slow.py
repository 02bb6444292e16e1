"""Question 8: why is it slow now: swapping, evaluating again what was there before, or a long reply?

- `swap`: swap grew during the recording, and where speeds are known, they fell with it; also by less, where the system says that little is free;
  or a good part of the process that holds the model is swapped out.
- `re_prefill`: of all seconds recorded, at least `MUCH` went into tokens that had matched and were not restored.
- `long_decode`: at least half went into replies. A prefill always stops one token before its end, so `total - 1` is a reply that runs,
  not a prefill that hangs.
Seconds are those of the recording; a run of the twin has none that mean anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.recording.facts import Facts
from kvlab.units import GB, MIB, binary

QUESTION = "why_slow"

MUCH = 1 / 3
"""The share of all seconds from which on one reason is the answer; half for replies."""

SWAPPED = GB
"""Bytes of swap that grew, or of a process that are swapped out, from which on swapping is the answer."""

SWAPPED_SHORT = 256 * MIB
"""The same where the system says that little is free."""

LITTLE = 0.15
"""The share that is free, as `memory_pressure` reports it, at or below which a machine has little left."""

LEAST_S = 1.0
"""Seconds in all below which nothing is slow."""

FELL = 0.7
"""A speed that is at most this share of the first one has fallen."""

OUT = ("swapped", "process_swap")
"""Gauges of a process's bytes that are swapped out."""

_NOTED = re.compile(r"\bswap(?:ping|ped)?(?: already| is)? (?:active|in use)|\bheavy swap\b|\bswapping\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Swap:
    """Swap of the machine and of the model's process in bytes, and the first and the last speed of replies in tokens per second."""

    grew: int
    out: int
    of_process: int
    resident: int
    free_share: float | None
    first: float | None
    last: float | None

    @property
    def decides(self) -> bool:
        most = max(self.grew, self.out)
        short = most >= SWAPPED_SHORT and self.free_share is not None and self.free_share <= LITTLE
        return (most >= SWAPPED or short) and (self.fell or self.first is None)

    @property
    def holds_process(self) -> bool:
        return self.of_process >= SWAPPED and self.of_process >= MUCH * (self.of_process + self.resident)

    @property
    def fell(self) -> bool:
        return self.first is not None and self.last is not None and self.last <= FELL * self.first


def why_slow(facts: Facts) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer what took the time."""
    if facts.exact:
        return unanswered(QUESTION, "seconds", facts, "A run of the twin has no seconds that mean anything.")
    swap, rows = _swap(facts), _seconds(facts)
    prefill, decode, again, waited = (float(rows.get_column(name).sum() or 0) for name in ("prefill", "decode", "again", "waited"))
    total = prefill + decode + waited
    numbers: dict[str, Number] = {
        "requests": rows.height,
        "prefill_s": round(prefill, 2),
        "decode_s": round(decode, 2),
        "evaluated_again_s": round(again, 2),
        "waited_s": round(waited, 2),
        "evaluated_again_tokens": int(rows.get_column("lost").sum() or 0),
        "swap_growth_bytes": swap.grew,
        "swapped_out_bytes": swap.out,
        "process_swapped_out_bytes": swap.of_process or None,
        "free_share": swap.free_share,
        "first_decode_tokens_per_s": swap.first,
        "last_decode_tokens_per_s": swap.last,
    }
    evidence = (Evidence("requests", tuple(rows.sort("spent", descending=True).head(5).to_dicts())),)

    def found(verdict: str, words: str, confidence: Confidence = "medium") -> Finding:
        return Finding(QUESTION, verdict, words, numbers, confidence, evidence, _REFUTED_BY[verdict])

    if swap.decides:
        return found("swap", _swap_words(facts, swap), "high" if swap.fell else "medium" if max(swap.grew, swap.out) >= SWAPPED else "low")
    if swap.holds_process:
        whole = swap.of_process + swap.resident
        return found("swap", f"{binary(swap.of_process)} of the process's {binary(whole)} are swapped out: what it reads of them comes from the disk.")
    noted = _noted(facts)
    if noted and swap.fell:
        return found("swap", f"Replies fell from {swap.first:.4g} to {swap.last:.4g} tokens/s.{noted} How much was swapped was not recorded.")
    if total < LEAST_S:
        return unanswered(QUESTION, "another_time" if total else "seconds", facts, _little_words(facts, total) + noted)
    waits = waited >= MUCH * total
    if not waits and again >= MUCH * total:
        words = f"{again:.1f} of {total:.1f} s went into {numbers['evaluated_again_tokens']} tokens that had matched and were evaluated again"
        return found("re_prefill", f"{words}; why_not_reused says which restore point was missing.")
    if not waits and decode >= total / 2:
        return found("long_decode", _decode_words(rows, decode, total))
    lacks = f"{prefill:.1f} of {total:.1f} s went into prompts that were new: neither swap, nor tokens evaluated again, nor long replies explain it."
    return unanswered(QUESTION, "another_time", facts, _waited_words(rows, waited, total) if waits else lacks).with_figures(numbers, *evidence)


def _swap_words(facts: Facts, swap: _Swap) -> str:
    out = f", {binary(swap.out)} were swapped out meanwhile" if swap.out else ""
    whose = "what the model holds" if facts.requests.height else "what runs on the machine"
    speed = f" Replies fell from {swap.first:.4g} to {swap.last:.4g} tokens/s with it." if swap.fell else ""
    system = f" {facts.machine.words()}" if swap.free_share is not None else ""
    return f"Swap grew by {binary(swap.grew)}{out}: {whose} no longer fits.{speed}{system}" + ("" if swap.fell else " No speeds were recorded with it.")


def _little_words(facts: Facts, total: float) -> str:
    if total:
        return f"{total:.1f} s of prefill and reply were recorded, which is nothing to explain."
    if facts.served_s:
        return f"The server's calls took {facts.served_s:.1f} s in all; what of that was prefill and what reply was not recorded."
    return "Seconds of prefill and reply were not recorded."


def _decode_words(rows: pl.DataFrame, decode: float, total: float) -> str:
    slowest = rows.sort("decode", descending=True).row(0, named=True)
    tokens = slowest["generated"] if slowest["generated"] is not None else "an unknown number of"
    return (
        f"{decode:.1f} of {total:.1f} s went into replies, {slowest['decode'] or 0:.1f} s of it into request {slowest['request']} ({tokens} tokens). "
        "A prefill that shows one token less than its total has ended: what follows is the reply."
    )


def _waited_words(rows: pl.DataFrame, waited: float, total: float) -> str:
    longest = rows.sort("waited", descending=True).row(0, named=True)
    return (
        f"{waited:.1f} of {total:.1f} s are in none of the server's own seconds, {longest['waited']:.1f} s of them in request {longest['request']}: it waited "
        "for others, the server was silent, or its answer came slowly. Neither swap, nor prompts, nor replies explain them."
    )


def _seconds(facts: Facts) -> pl.DataFrame:
    """Return a row a request: seconds of prefill and reply, and of the prefill those for tokens that had matched."""
    rows = (
        facts.requests.join(facts.waited, on="request", how="left", maintain_order="left")
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


def _noted(facts: Facts) -> str:
    """Return what somebody wrote of swap with a request's figures."""
    labels: list[tuple[int, str]] = list(facts.requests.select("request", "label").drop_nulls().iter_rows())
    noted = next(((request, found[0]) for request, message in (*facts.warnings, *labels) if (found := _NOTED.search(message))), None)
    return f" Request {noted[0]} has the remark: {noted[1]}." if noted else ""


def _swap(facts: Facts) -> _Swap:
    speeds = facts.numbers("decode_tps")
    if not speeds:
        timed = facts.requests.filter((pl.col("decode_s") > 0) & (pl.col("generated") > 1))
        speeds = timed.select(pl.col("generated") / pl.col("decode_s")).to_series().to_list()
    first, last = (speeds[0], speeds[-1]) if len(speeds) > 1 else (None, None)
    of_process = next((facts.last[gauge] for gauge in OUT if gauge in facts.last), 0)
    machine = facts.machine
    return _Swap(machine.swap_grew, machine.swapped_out, of_process, facts.last.get("rss", 0), machine.free_share, first, last)


_REFUTED_BY = {
    "swap": "the same speeds after the model was loaded anew and nothing is swapped out",
    "re_prefill": "the same seconds when the match is restored in full",
    "long_decode": "the same seconds with a limit on new tokens",
}
