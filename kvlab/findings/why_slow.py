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

import polars as pl

from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.recording.facts import Facts
from kvlab.units import GB, MIB

Q = Question("why_slow")

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


def why_slow(facts: Facts) -> Finding:  # noqa: PLR0911  each return is one of the answers
    """Answer what took the time."""
    if facts.exact:
        return Q.open("seconds", facts, Q.say("twin"))
    machine, rows = facts.machine, _seconds(facts)
    speeds = _speeds(facts)
    first, last = (speeds[0], speeds[-1]) if len(speeds) > 1 else (None, None)
    fell = first is not None and last is not None and last <= FELL * first
    swapped, out = max(machine.swap_grew, machine.swapped_out), next((facts.last[gauge] for gauge in OUT if gauge in facts.last), 0)
    prefill, decode, again, waited = (float(rows.get_column(name).sum() or 0) for name in ("prefill", "decode", "again", "waited"))
    total = prefill + decode + waited
    seconds = {"prefill_s": prefill, "decode_s": decode, "evaluated_again_s": again, "waited_s": waited}
    numbers: dict[str, Number] = {
        "requests": rows.height,
        **{name: round(value, 2) for name, value in seconds.items()},
        "evaluated_again_tokens": int(rows.get_column("lost").sum() or 0),
        "swap_growth_bytes": machine.swap_grew,
        "swapped_out_bytes": machine.swapped_out,
        "process_swapped_out_bytes": out or None,
        "free_share": machine.free_share,
        "first_decode_tokens_per_s": first,
        "last_decode_tokens_per_s": last,
    }
    evidence = (Evidence("requests", tuple(rows.sort("spent", descending=True).head(5).to_dicts())),)

    def found(verdict: str, words: str, confidence: Confidence = "medium") -> Finding:
        return Q.found(verdict, words, numbers, confidence, *evidence)

    short = swapped >= SWAPPED_SHORT and machine.free_share is not None and machine.free_share <= LITTLE
    if (swapped >= SWAPPED or short) and (fell or first is None):
        words = Q.say(
            "swap",
            numbers,
            out_bytes=machine.swapped_out or None,
            whose=Q.say("swap_model" if facts.requests.height else "swap_machine"),
            speed=Q.say("speed_fell" if fell else "no_speed", numbers),
            system=machine.words() if machine.free_share is not None else None,
        )
        return found("swap", words, "high" if fell else "medium" if swapped >= SWAPPED else "low")
    whole = out + facts.last.get("rss", 0)
    if out >= SWAPPED and out >= MUCH * whole:
        return found("swap", Q.say("swap_process", numbers, whole_bytes=whole))
    noted = _noted(facts)
    if noted and fell:
        return found("swap", Q.say("swap_noted", numbers, noted=noted))
    if total < LEAST_S:
        lacks = Q.say("little" if total else "served" if facts.served_s else "no_seconds", total=total, served_s=facts.served_s)
        return Q.open("another_time" if total else "seconds", facts, lacks + noted)
    waits = waited >= MUCH * total
    if not waits and again >= MUCH * total:
        return found("re_prefill", Q.say("re_prefill", numbers | seconds, total=total))
    slowest = rows.sort("waited" if waits else "decode", descending=True).row(0, named=True)
    figures = slowest | numbers | seconds | {"total": total, "decode": slowest["decode"] or 0}
    if slowest["generated"] is None:
        figures["generated"] = "an unknown number of"
    if not waits and decode >= total / 2:
        return found("long_decode", Q.say("long_decode", figures))
    return Q.open("another_time", facts, Q.say("waits" if waits else "new_prompts", figures)).with_figures(numbers, *evidence)


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
    """Return what a remark or a warning says of swap."""
    labels: list[tuple[int, str]] = list(facts.requests.select("request", "label").drop_nulls().iter_rows())
    noted = next(((request, found[0]) for request, message in (*facts.warnings, *labels) if (found := _NOTED.search(message))), None)
    return Q.say("noted", request=noted[0], words=noted[1]) if noted else ""


def _speeds(facts: Facts) -> list[float]:
    """Return the speeds of replies in their order, in tokens per second."""
    timed = facts.requests.filter((pl.col("decode_s") > 0) & (pl.col("generated") > 1))
    return facts.numbers("decode_tps") or timed.select(pl.col("generated") / pl.col("decode_s")).to_series().to_list()
