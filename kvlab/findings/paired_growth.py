"""Paired growth: a process holds more and more while the server's own figure of its model stays where it is, or its heap's regions grow and the
graphics' do not.

What grows then is the process's own heap (or what a library keeps), not the cache: the server counts its cache. A context length that makes
no difference says so once more. Source: public report ollama#18099 (footprint 8.25 to 13.74 GB while /api/ps stays at 7.43 GiB).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from kvlab.findings.finding import Confidence, Number
from kvlab.findings.growth import NONE, Slope, theil_sen
from kvlab.recording.facts import Facts, Values
from kvlab.recording.facts.facts import CONTEXTS
from kvlab.recording.facts.figures import OF_PROCESS, OF_SERVER, step_of
from kvlab.recording.facts.owners import values
from kvlab.recording.facts.parts import DIRTY, GRAPHICS, HEAP
from kvlab.units import MIB, binary

LEAST_FIGURES = 3
"""Pairs of figures below which nothing is said."""

FEW = 5
"""Pairs of figures below which it is said with low confidence."""

LEAST_GROWTH = 64 * MIB
"""Bytes that a process may gain before growth is looked for."""

STAYS = 0.1
"""The listed size stays when its change is at most this share of the process's."""

SAME = 1.5
"""Growth by context is the same when the largest is at most this many times the smallest."""


@dataclass(frozen=True, slots=True)
class PairedGrowth:
    """A process that grows and what does not.

    Attributes:
        gauge: What was read of the process.
        along: `request` or `second`; "" for two listings of regions.
        figures: How many pairs.
        grown: Bytes that the process gained.
        listed: Bytes by which what the server lists (or the graphics' regions) changed.
        slope: Of the process's bytes.
        contexts: Growth per request by context length, in bytes.
        table: The pairs.
    """

    gauge: str
    along: str
    figures: int
    grown: float
    listed: float
    slope: Slope = NONE
    contexts: dict[int, float] = field(default_factory=dict[int, float])
    table: pl.DataFrame = field(default_factory=pl.DataFrame)

    refuted_by = "a listed size that grows as the process does, or a growth that follows the context length"

    @property
    def context_has_effect(self) -> str:
        """Whether the context length makes a difference: `yes`, `no` or `unknown`."""
        if len(self.contexts) < 2:
            return "unknown"
        return "no" if max(self.contexts.values()) <= SAME * max(min(self.contexts.values()), 1) else "yes"

    @property
    def confidence(self) -> Confidence:
        """How sure it is."""
        if self.gauge == "rss" or self.figures < FEW or self.context_has_effect == "yes":
            return "low"
        return "high" if self.context_has_effect == "no" and self.figures >= 15 else "medium"

    def numbers(self) -> dict[str, Number]:
        """Return its figures."""
        slopes: dict[str, Number] = {
            f"process_slope_bytes_per_{self.along}": round(self.slope.value),
            f"process_slope_low_bytes_per_{self.along}": round(self.slope.low),
        }
        return {
            "figures": self.figures,
            "gauge": self.gauge,
            "process_growth_bytes": round(self.grown),
            "listed_growth_bytes": round(self.listed),
            **(slopes if self.along else {}),
            "contexts_seen": sorted(self.contexts),
            "context_has_effect": self.context_has_effect,
        }

    def words(self) -> str:
        """Return it as a sentence."""
        if not self.along:
            return (
                f"The process's {self.gauge} regions grew by {binary(self.grown)} between two listings while its graphics regions changed by "
                f"{binary(self.listed)}: its heap grows, not the cache."
            )
        context = {"no": " The context length makes no difference.", "yes": " It differs by context length, which a heap seldom does.", "unknown": ""}
        return (
            f"The process's {self.gauge} grew by {binary(self.grown)} ({binary(self.slope.value)} per {self.along}) while the size that the server lists "
            f"changed by {binary(self.listed)}: its heap grows, not the cache.{context[self.context_has_effect]}"
        )

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Return the first, the middle and the last pair."""
        count = self.table.height
        return tuple(self.table.gather(sorted({0, count // 2, count - 1})).to_dicts())


def paired_growth(facts: Facts) -> PairedGrowth | None:
    """Return how a process grows whose listed model does not; None when that is not so or cannot be seen."""
    found = _pairs(facts)
    if found is None:
        return _regions(facts)
    gauge, along, rows = found
    x, held, listed = (values(rows, name) for name in (along, "value", "listed"))
    grown, change, slope = float(held[-1] - held[0]), float(listed[-1] - listed[0]), theil_sen(x, held)
    # a figure printed in whole GB may hide up to one step
    stays = abs(change) <= STAYS * grown and step_of(rows, "listed_step") <= max(grown, 1)
    if grown < LEAST_GROWTH or not stays or slope.low <= 0 or slope.value <= slope.high - slope.low:
        return None
    contexts = _by_context(facts, x, held) if along == "request" else {}
    return PairedGrowth(gauge, "request" if along == "request" else "second", len(x), grown, change, slope, contexts, rows)


def _pairs(facts: Facts) -> tuple[str, str, pl.DataFrame] | None:
    sizes = next((rows for gauge in OF_SERVER if (rows := facts.figures(gauge)).height), None)
    if sizes is None:
        return None
    for gauge in OF_PROCESS:
        held = facts.figures(gauge)
        for along in ("request", "t"):
            joined = _side_by_side(held, sizes, along)
            if joined.height >= LEAST_FIGURES:
                return gauge, along, joined
    return None


def _side_by_side(held: pl.DataFrame, sizes: pl.DataFrame, along: str) -> pl.DataFrame:
    if along == "request":
        held, sizes = (rows.filter(pl.col("request") > 0) for rows in (held, sizes))
    left, right = (rows.sort("seq").unique(along, keep="last", maintain_order=True).sort(along) for rows in (held, sizes))
    listed = right.select(along, pl.col("value").alias("listed"), pl.col("step").alias("listed_step"))
    return left.select(along, "value").join(listed, on=along, how="inner").sort(along)


def _by_context(facts: Facts, request: Values, held: Values) -> dict[int, float]:
    """Return the process's growth per request at each context length; {} when none was recorded."""
    rows = facts.observed.filter(pl.col("gauge").is_in(CONTEXTS) & pl.col("number").is_not_null() & (pl.col("request") > 0))
    of: dict[int, int] = {number: int(context) for number, context in rows.select("request", "number").iter_rows()}
    grown: dict[int, list[float]] = {}
    for place in range(1, len(request)):
        before, now = of.get(int(request[place - 1])), of.get(int(request[place]))
        if now is not None and now == before:
            grown.setdefault(now, []).append(float((held[place] - held[place - 1]) / (request[place] - request[place - 1])))
    return {context: float(np.median(steps)) for context, steps in grown.items() if len(steps) > 1}


def _regions(facts: Facts) -> PairedGrowth | None:
    """Return how the heap's regions grew between two listings of one process's regions; None when there are not two."""
    for gauge in DIRTY:
        rows = facts.observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null() & (pl.col("label") != "TOTAL"))
        kinds = rows.group_by("label", maintain_order=True).agg(pl.len(), pl.col("value").first().alias("first"), pl.col("value").last().alias("last"))
        kinds = kinds.filter(pl.col("len") > 1).with_columns((pl.col("last") - pl.col("first")).alias("grown"), pl.col("label").str.to_lowercase().alias("of"))
        heap = kinds.filter(pl.col("of").str.starts_with(HEAP))
        graphics = kinds.filter(pl.any_horizontal(*(pl.col("of").str.starts_with(name) for name in GRAPHICS)))
        grown, other = int(heap["grown"].sum()), int(graphics["grown"].sum())
        if grown >= LEAST_GROWTH and abs(other) <= STAYS * grown:
            shown = pl.concat([heap, graphics]).sort("grown", descending=True).select("label", "first", "last")
            return PairedGrowth(str(shown.item(0, "label")), "", 2, grown, other, table=shown)
    return None
