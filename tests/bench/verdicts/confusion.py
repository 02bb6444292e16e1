"""The confusion table: what was true of a series, and what was said of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvlab.diagnose import Finding
from kvlab.diagnose.budget_or_leak import compare
from kvlab.studies.bench_runner import Say, require_rounds, unsaid
from kvlab.views import text_table
from tests.bench.verdicts.block_series import blocks
from tests.bench.verdicts.series import sample

EACH = 200
"""Series of the twin, without and with a leak."""

BLOCKS = 5
"""The share of them that the block server makes: each needs a simulation of its own."""

OPEN = "not_enough_data"
LEAK = "leak"
UNEXPLAINED = "unexplained"

MOST_OPEN = 0.05
"""The share of a maker's series without a leak that may stay open where the server's own sizes were read: 60 requests, shape and policy are known."""

PLAIN = 50_000_000
"""Bytes per request from which on a leak must be found."""

PROCESS = "blocks, footprint"
"""The maker whose figures are a process's: its heap's growth is in them, so they may leave any series without a leak open."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One series with what was said of it; `made_by` is one of `MAKERS`."""

    made_by: str
    leak: float
    finding: Finding

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one that may be given of this series."""
        said = self.finding.verdict
        if not self.leak:
            return said not in (LEAK, UNEXPLAINED)
        return said == LEAK if self.leak >= PLAIN else said in (LEAK, OPEN)


@dataclass(frozen=True, slots=True)
class Confusion:
    """All series judged."""

    judgements: tuple[Judgement, ...]

    @property
    def passed(self) -> bool:
        """Whether every verdict is one that may be given, and few of the series without a leak are left open."""
        return not any(self.wrong(by) or (by != PROCESS and self.share(by, OPEN) > MOST_OPEN) for by in MAKERS)

    def wrong(self, made_by: str) -> int:
        """Return how many verdicts on a maker's series may not be given of them."""
        return sum(not one.is_right for one in self.judgements if one.made_by == made_by)

    def share(self, made_by: str, verdict: str) -> float:
        """Return the share of a maker's series without a leak that get `verdict`."""
        verdicts = [one.finding.verdict for one in self.judgements if one.made_by == made_by and not one.leak]
        return verdicts.count(verdict) / max(1, len(verdicts))

    def table(self) -> dict[tuple[str, str, str], int]:
        """Return how many series of each maker and truth got each verdict."""
        return dict(Counter((one.made_by, _truth(one), one.finding.verdict) for one in self.judgements))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        rows = [{"made_by": by, "truth": truth, "verdict": verdict, "series": count} for (by, truth, verdict), count in sorted(self.table().items())]
        makers = [{"made_by": by, "wrong": self.wrong(by), "open_share": self.share(by, OPEN), "false_leak_share": self.share(by, LEAK)} for by in MAKERS]
        wrong = sum(map(self.wrong, MAKERS))
        return {"bench": "verdicts", "rows": rows, "makers": makers, "wrong": wrong, "passed": self.passed}


def measure(rounds: int = EACH, seed: int = 0, say: Say = unsaid) -> Confusion:
    """Judge `rounds` series of the twin without and with a leak, and a `BLOCKS`th as many of each kind of the block server.

    Raises:
        BadValue: `rounds` is below 1.
    """
    require_rounds(rounds, EACH)
    judgements: list[Judgement] = []
    for made_by, judge in MAKERS.items():
        count = rounds if made_by == "twin" else math.ceil(rounds / BLOCKS)
        for leaking in (False, True):
            judgements += [Judgement(made_by, *judge(seed + 2 * number + leaking, leaking)) for number in range(count)]
            say(f"{made_by}: {count} series {'with' if leaking else 'without'} a leak judged")
    return Confusion(tuple(judgements))


def as_text(seen: Confusion) -> str:
    """Return the table for a terminal."""
    rows = [(*names, str(count)) for names, count in sorted(seen.table().items())]
    shares = [(by, str(seen.wrong(by)), f"{seen.share(by, LEAK):.1%}", f"{seen.share(by, OPEN):.1%}") for by in MAKERS]
    return (
        f"{text_table.columns(('made by', 'truth', 'verdict', 'series'), rows)}\n\n"
        f"{text_table.columns(('made by', 'wrong', 'no leak: leak', f'no leak: {OPEN}'), shares)}\n"
        f"{sum(map(seen.wrong, MAKERS))} of {len(seen.judgements)} verdicts are wrong. Limits: 0; {OPEN} at most {MOST_OPEN:.0%}, but for {PROCESS}"
    )


def _twins(seed: int, leaking: bool) -> tuple[float, Finding]:  # noqa: FBT001 - one signature for all makers
    one = sample(seed, leaking=leaking)
    return one.leak, compare(one.longest, one.server.shape, one.server.policy)


def _truth(one: Judgement) -> str:
    return "no leak" if not one.leak else f"leak, {PLAIN // 1_000_000} MB or more" if one.leak >= PLAIN else "leak, smaller"


MAKERS: dict[str, Callable[[int, bool], tuple[float, Finding]]] = {
    "twin": _twins,
    "blocks, size": lambda seed, leaking: blocks(seed, leaking=leaking, gauge="size"),
    PROCESS: lambda seed, leaking: blocks(seed, leaking=leaking, gauge="footprint"),
}
"""Who makes series: kvlab's twin, and a server of blocks that shares no code with it, by its listed size and by its process's footprint."""
