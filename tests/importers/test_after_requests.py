"""The reduction that the round trip is compared by, on tables small enough to read."""

from __future__ import annotations

import polars as pl

from tests.importers.after_requests import after_requests

SEQS = [10, 20, 30]


def _table(*rows: tuple[str, int, int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema={"name": pl.String(), "born": pl.Int64(), "died": pl.Int64()}, orient="row")


def test_a_row_stands_from_the_first_close_that_sees_it_up_to_the_one_that_does_not() -> None:
    assert after_requests(_table(("a", 3, 25), ("b", 10, None), ("c", 11, 30)), SEQS) == [("a", 0, 2), ("b", 0, None), ("c", 1, 2)]


def test_what_no_close_sees_is_not_there() -> None:
    assert after_requests(_table(("a", 11, 20), ("b", 31, None)), SEQS) == []


def test_a_version_that_is_there_again_at_the_next_close_is_one() -> None:
    assert after_requests(_table(("a", 3, 12), ("a", 15, None)), SEQS) == [("a", 0, None)]


def test_a_version_that_a_close_missed_is_two() -> None:
    assert after_requests(_table(("a", 3, 12), ("a", 25, None)), SEQS) == [("a", 0, 1), ("a", 2, None)]
