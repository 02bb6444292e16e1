"""Heap growth: a process holds more and more while the server's own figure of its model stays where it is.

What grows then is the process's own heap (or what a library keeps), not the cache: the server counts its cache. A context length that makes
no difference says so once more. Source: public report ollama#18099 (footprint 8.25 to 13.74 GB while /api/ps stays at 7.43 GiB).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.outside.series_seen import OF_PROCESS, TOLD_BY_SERVER, figures_of, step_of
from kvlab.diagnose.trend import Slope, Values, theil_sen
from kvlab.recording import Recording
from kvlab.units import MIB, binary

QUESTION = "budget_or_leak"

LEAST_FIGURES = 5
"""Pairs of figures below which nothing is said."""

LEAST_GROWTH = 64 * MIB
"""Bytes that a process may gain without a word."""

STAYS = 0.1
"""The listed size stays when its change is at most this share of the process's."""

CONTEXTS = ("asked_context", "context", "num_ctx")
SAME = 1.5
"""Growth by context is the same when the largest is at most this many times the smallest."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """What a process held and what was listed, side by side; `along` is `request` or `second`."""

    along: str
    gauge: str
    x: Values
    held: Values
    listed: Values
    step: int
    rows: pl.DataFrame


def heap_growth(recording: Recording) -> Finding | None:
    """Return the finding when a process grows and its listed model does not; None when that is not so or cannot be seen."""
    pairs = _pairs(recording)
    if pairs is None:
        return None
    grown, listed = float(pairs.held[-1] - pairs.held[0]), float(pairs.listed[-1] - pairs.listed[0])
    slope = theil_sen(pairs.x, pairs.held)
    # a figure printed in whole GB may hide up to one step
    stays = abs(listed) <= max(STAYS * grown, 0) and pairs.step <= max(grown, 1)
    if grown < LEAST_GROWTH or not stays or slope.low <= 0 or slope.value <= slope.high - slope.low:
        return None
    contexts = _by_context(recording, pairs)
    same = len(contexts) > 1 and max(contexts.values()) <= SAME * max(min(contexts.values()), 1)
    numbers: dict[str, Number] = {
        "figures": len(pairs.x),
        "gauge": pairs.gauge,
        "process_growth_bytes": round(grown),
        "listed_growth_bytes": round(listed),
        f"process_slope_bytes_per_{pairs.along}": round(slope.value),
        f"process_slope_low_bytes_per_{pairs.along}": round(slope.low),
        "contexts_seen": sorted(contexts),
        "context_has_effect": ("no" if same else "yes") if len(contexts) > 1 else "not told",
    }
    return Finding(
        question=QUESTION,
        verdict="heap_growth",
        summary=_summary(pairs, grown, listed, slope, numbers),
        numbers=numbers,
        confidence=_confidence(pairs, tested=len(contexts) > 1, same=same),
        evidence=(Evidence("observed", tuple(pairs.rows.gather([0, len(pairs.x) // 2, len(pairs.x) - 1]).to_dicts())),),
        refuted_by="a listed size that grows as the process does, or a growth that follows the context length",
    )


def _pairs(recording: Recording) -> _Pairs | None:
    sizes = [rows for gauge in TOLD_BY_SERVER if (rows := figures_of(recording, gauge)).height]
    for gauge in OF_PROCESS if sizes else ():
        held = figures_of(recording, gauge)
        for along in ("request", "t"):
            joined = _side_by_side(held, sizes[0], along)
            if joined.height >= LEAST_FIGURES:
                values = [joined.get_column(name).cast(pl.Float64).to_numpy() for name in (along, "value", "listed")]
                step = step_of(joined, "listed_step")
                return _Pairs("request" if along == "request" else "second", gauge, values[0], values[1], values[2], step, joined)
    return None


def _side_by_side(held: pl.DataFrame, sizes: pl.DataFrame, along: str) -> pl.DataFrame:
    if along == "request":
        held, sizes = (rows.filter(pl.col("request") > 0) for rows in (held, sizes))
    left, right = (rows.sort("seq").unique(along, keep="last", maintain_order=True).sort(along) for rows in (held, sizes))
    listed = right.select(along, pl.col("value").alias("listed"), pl.col("step").alias("listed_step"))
    return left.select(along, "value").join(listed, on=along, how="inner").sort(along)


def _by_context(recording: Recording, pairs: _Pairs) -> dict[int, float]:
    """Return the process's growth per request at each context length; {} when none is told."""
    if pairs.along != "request":
        return {}
    told = recording.observed.filter(pl.col("gauge").is_in(CONTEXTS) & pl.col("number").is_not_null() & (pl.col("request") > 0))
    of: dict[int, int] = {request: int(number) for request, number in told.select("request", "number").iter_rows()}
    grown: dict[int, list[float]] = {}
    for place in range(1, len(pairs.x)):
        before, now = of.get(int(pairs.x[place - 1])), of.get(int(pairs.x[place]))
        if now is not None and now == before:
            grown.setdefault(now, []).append(float((pairs.held[place] - pairs.held[place - 1]) / (pairs.x[place] - pairs.x[place - 1])))
    return {context: float(np.median(steps)) for context, steps in grown.items() if len(steps) > 1}


def _confidence(pairs: _Pairs, *, tested: bool, same: bool) -> Confidence:
    if pairs.gauge == "rss" or (tested and not same):
        return "low"
    return "high" if tested and len(pairs.x) >= 15 else "medium"


def _summary(pairs: _Pairs, grown: float, listed: float, slope: Slope, numbers: dict[str, Number]) -> str:
    context = {"no": " The context length makes no difference.", "yes": " It differs by context length, which a heap seldom does.", "not told": ""}
    return (
        f"The process's {pairs.gauge} grew by {binary(grown)} ({binary(slope.value)} per {pairs.along}) while the size that the server lists changed by "
        f"{binary(listed)}: its heap grows, not the cache.{context[str(numbers['context_has_effect'])]}"
    )
