"""The confusion table: what was true of a series, and what was answered.

A verdict without `leak` states the largest leak that its figures could hide. It is judged by that: a larger leak makes it wrong, a smaller one is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from kvlab.findings import Finding
from kvlab.findings.compared_growth import compare
from kvlab.studies.bench_runner import Say, quiet, require_rounds
from kvlab.views import text_table
from tests.bench.verdicts.block_series import blocks
from tests.bench.verdicts.series import sample

EACH = 40
"""Series of each maker, without and with a leak."""

OPEN = "not_enough_data"
LEAK = "leak"
UNEXPLAINED = "unexplained"

MOST_OPEN = 0.05
"""The share of a maker's series without a leak that may stay open: 60 requests, shape and policy are known."""

PLAIN = 50_000_000
"""Bytes per request from which on a leak is plain."""

LEAST_FOUND = 0.9
"""The share of a maker's plain leaks that must be found."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One series and the finding on it; `made_by` is one of `MAKERS`."""

    made_by: str
    leak: float
    finding: Finding

    @property
    def verdict(self) -> str:
        """The finding's verdict; `hidden` when it is without a leak, and a leak below its stated limit is there."""
        return "hidden" if self.leak and self.finding.verdict not in (LEAK, UNEXPLAINED, OPEN) and self._below_limit else self.finding.verdict

    @property
    def _below_limit(self) -> bool:
        limit = self.finding.numbers.get("largest_leak_bytes_per_request")
        return isinstance(limit, int) and self.leak <= limit

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one that may be given of this series."""
        return self.verdict in (LEAK, UNEXPLAINED, OPEN, "hidden") if self.leak else self.verdict not in (LEAK, UNEXPLAINED)

    @property
    def truth(self) -> str:
        """What is so of the series."""
        return "no leak" if not self.leak else f"leak, {PLAIN // 1_000_000} MB or more" if self.leak >= PLAIN else "leak, smaller"


@dataclass(frozen=True, slots=True)
class Maker:
    """What was answered on the series of one maker.

    Attributes:
        made_by: Its name.
        wrong: Verdicts that may not be given of their series.
        false_leak_share: The share of series without a leak that are called one.
        open_share: The share of them that stay open.
        found_share: The share of plain leaks that are found; 1 when there are none.
        hidden: Leaks below the limit that the finding states.
    """

    made_by: str
    wrong: int
    false_leak_share: float
    open_share: float
    found_share: float
    hidden: int

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, few series without a leak are open, and few plain leaks are missed."""
        return not self.wrong and self.open_share <= MOST_OPEN and self.found_share >= LEAST_FOUND


@dataclass(frozen=True, slots=True)
class Confusion:
    """All series judged."""

    judgements: tuple[Judgement, ...]

    @property
    def passed(self) -> bool:
        """Whether every maker's series pass."""
        return all(maker.passed for maker in self.makers())

    def makers(self) -> list[Maker]:
        """Return what was answered on each maker's series."""
        made: list[Maker] = []
        for by in MAKERS:
            own = [one for one in self.judgements if one.made_by == by]
            without = [one.verdict for one in own if not one.leak]
            plain = [one.verdict for one in own if one.leak >= PLAIN]
            shares = (without.count(LEAK) / max(1, len(without)), without.count(OPEN) / max(1, len(without)), plain.count(LEAK) / len(plain) if plain else 1.0)
            made.append(Maker(by, sum(not one.is_right for one in own), *shares, sum(one.verdict == "hidden" for one in own)))
        return made

    def table(self) -> dict[tuple[str, str, str], int]:
        """Return how many series of each maker and truth got each verdict."""
        return dict(Counter((one.made_by, one.truth, one.verdict) for one in self.judgements))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        rows = [{"made_by": by, "truth": truth, "verdict": verdict, "series": count} for (by, truth, verdict), count in sorted(self.table().items())]
        makers = [asdict(maker) for maker in self.makers()]
        return {"bench": "verdicts", "rows": rows, "makers": makers, "wrong": sum(maker.wrong for maker in self.makers()), "passed": self.passed}


def measure(rounds: int = EACH, seed: int = 0, say: Say = quiet) -> Confusion:
    """Judge `rounds` series of each maker without and with a leak.

    Raises:
        BadValue: `rounds` is below 1.
    """
    require_rounds(rounds, EACH)
    judgements: list[Judgement] = []
    for number in range(rounds):
        # one server's size and footprint come after one another: they share its simulation
        judgements += [Judgement(by, *judge(seed + 2 * number + leaking, leaking)) for leaking in (False, True) for by, judge in MAKERS.items()]
        if (number + 1) % PRINTED == 0 or number + 1 == rounds:
            say(f"{len(judgements)} of {rounds * 2 * len(MAKERS)} series judged")
    return Confusion(tuple(judgements))


PRINTED = 10
"""Rounds after which the count of judged series is printed."""


def as_text(seen: Confusion) -> str:
    """Return the table for a terminal."""
    rows = [(*names, str(count)) for names, count in sorted(seen.table().items())]
    shares = [
        (one.made_by, str(one.wrong), f"{one.false_leak_share:.1%}", f"{one.open_share:.1%}", f"{one.found_share:.1%}", str(one.hidden))
        for one in seen.makers()
    ]
    heads = ("made by", "wrong", "no leak: leak", f"no leak: {OPEN}", "plain leak: leak", "leak below the limit")
    return (
        f"{text_table.columns(('made by', 'truth', 'verdict', 'series'), rows)}\n\n{text_table.columns(heads, shares)}\n"
        f"{sum(one.wrong for one in seen.makers())} of {len(seen.judgements)} verdicts are wrong. "
        f"Limits: 0 wrong; {OPEN} at most {MOST_OPEN:.0%}; at least {LEAST_FOUND:.0%} of the plain leaks found"
    )


def _twins(seed: int, leaking: bool) -> tuple[float, Finding]:  # noqa: FBT001 - one signature for all makers
    one = sample(seed, leaking=leaking)
    return one.leak, compare(one.longest, one.server.shape, one.server.policy)


MAKERS: dict[str, Callable[[int, bool], tuple[float, Finding]]] = {
    "twin": _twins,
    "blocks, size": lambda seed, leaking: blocks(seed, leaking=leaking, gauge="size"),
    "blocks, footprint": lambda seed, leaking: blocks(seed, leaking=leaking, gauge="footprint"),
}
"""Who makes series: kvlab's twin, and a server of blocks that shares no code with it, by its listed size and by its process's footprint."""
