"""Verdicts on seeded series: no lawful one is called a leak, no plain leak is missed, the rest is left open or right."""

from __future__ import annotations

import pytest

from kvlab.errors import BadValue
from kvlab.studies.verdicts import as_text, measure
from kvlab.studies.verdicts.confusion import EACH, OPEN
from kvlab.studies.verdicts.series import LEAKS, sample


def test_no_verdict_is_wrong() -> None:
    seen = measure()
    table = seen.table()
    assert sum(count for (truth, _), count in table.items() if truth == "lawful") == EACH
    assert sum(count for (truth, _), count in table.items() if truth != "lawful") == EACH
    assert ("lawful", "leak") not in table
    assert {verdict for truth, verdict in table if truth == "leak, plain"} == {"leak"}
    assert {verdict for truth, verdict in table if truth == "leak, within noise"} <= {"leak", OPEN}
    assert seen.passed
    assert "0 of 400 verdicts are wrong" in as_text(seen)


def test_most_verdicts_are_given() -> None:
    table = measure(rounds=40, seed=50_000).table()
    given = sum(count for (_, verdict), count in table.items() if verdict != OPEN)
    assert given > 40


def test_series_are_seeded_and_leaks_have_the_stated_size() -> None:
    first, again = sample(7, leaking=True), sample(7, leaking=True)
    assert (first.longest.observed == again.longest.observed).all()
    assert all(LEAKS[0] <= sample(seed, leaking=True).leak <= LEAKS[1] for seed in range(20))
    assert sample(8, leaking=False).leak == 0


def test_no_series_is_refused() -> None:
    with pytest.raises(BadValue, match="--rounds 0"):
        measure(rounds=0)
