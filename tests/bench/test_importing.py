"""The bench of importing: its bars, and that it reads what it made."""

from __future__ import annotations

import pytest

from tests.bench import importing
from tests.bench.importing import Bench, Row


def _bench(cpu_seconds: float, peak: int) -> Bench:
    return Bench((Row("trace", 10**9, 5, 1, 9, cpu_seconds * 2, cpu_seconds, peak),), {"cpus": 2})


@pytest.mark.parametrize(("cpu_seconds", "peak", "passes"), [(19.0, 400 * 10**6, True), (21.0, 400 * 10**6, False), (19.0, 501 * 10**6, False)])
def test_it_has_two_bars(cpu_seconds: float, peak: int, *, passes: bool) -> None:
    seen = _bench(cpu_seconds, peak)
    assert seen.passed is passes
    assert seen.to_dict()["rows"][0]["mb_s"] == pytest.approx(1000 / cpu_seconds)


def test_it_reads_what_it_made() -> None:
    seen = importing.measure(size=300_000)
    assert [row.mix for row in seen.rows] == list(importing.MIXES)
    for row in seen.rows:
        assert row.size >= 300_000
        assert row.requests >= 40
        assert row.lines > row.requests
