"""The confusion table: what was true of a series, and what was said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from kvlab.diagnose import Finding
from kvlab.diagnose.budget_or_leak import compare
from kvlab.studies.bench_words import Say, require_rounds, unsaid
from kvlab.studies.verdicts.series import Sample, sample
from kvlab.views import text_table

EACH = 200
"""Series of each kind."""

OPEN = "not_enough_data"
LEAK = "leak"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One series with what was said of it."""

    leak: float
    finding: Finding

    @property
    def is_plain(self) -> bool:
        """Whether the slope is more than its error: no leak may be missed then."""
        least = self.finding.numbers.get("least_leak_bytes_per_request")
        return isinstance(least, int | float) and least > 0

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one that may be given of this series."""
        said = self.finding.verdict
        if not self.leak:
            return said != LEAK
        return said == LEAK if self.is_plain else said in (LEAK, OPEN)


@dataclass(frozen=True, slots=True)
class Confusion:
    """All series judged."""

    judgements: tuple[Judgement, ...]

    @property
    def passed(self) -> bool:
        """Whether every verdict is one that may be given."""
        return all(one.is_right for one in self.judgements)

    def table(self) -> dict[tuple[str, str], int]:
        """Return how many series of each truth got each verdict."""
        return dict(Counter((_truth(one), one.finding.verdict) for one in self.judgements))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        rows = [{"truth": truth, "verdict": verdict, "series": count} for (truth, verdict), count in sorted(self.table().items())]
        return {"bench": "verdicts", "rows": rows, "wrong": sum(not one.is_right for one in self.judgements), "passed": self.passed}


def measure(rounds: int = EACH, seed: int = 0, say: Say = unsaid) -> Confusion:
    """Judge `rounds` lawful and `rounds` leaking series.

    Raises:
        BadValue: `rounds` is below 1.
    """
    require_rounds(rounds, EACH)
    judgements: list[Judgement] = []
    for leaking in (False, True):
        judgements += [_judged(sample(seed + 2 * number + leaking, leaking=leaking)) for number in range(rounds)]
        say(f"{rounds} {'leaking' if leaking else 'lawful'} series judged")
    return Confusion(tuple(judgements))


def as_text(seen: Confusion) -> str:
    """Return the table for a terminal."""
    rows = [(truth, verdict, str(count)) for (truth, verdict), count in sorted(seen.table().items())]
    wrong = sum(not one.is_right for one in seen.judgements)
    return f"{text_table.columns(('truth', 'verdict', 'series'), rows)}\n{wrong} of {len(seen.judgements)} verdicts are wrong"


def _judged(one: Sample) -> Judgement:
    return Judgement(one.leak, compare(one.longest, one.server.shape, one.server.policy))


def _truth(one: Judgement) -> str:
    if not one.leak:
        return "lawful"
    return "leak, plain" if one.is_plain else "leak, within noise"
