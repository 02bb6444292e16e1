"""The answer check's finding reads a table: identical, numeric, or a wrong state with positions and owner."""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.findings.is_the_answer_right import is_the_answer_right_cold
from kvlab.lab.answer_check import COLUMNS

ROW: dict[str, Any] = {
    "request": 2,
    "group": 0,
    "layer": "kv",
    "state": "identical",
    "start": 0,
    "end": 8,
    "belongs_to": 1,
    "difference": 0.0,
    "same_reply": True,
}


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([ROW | row for row in rows], schema=COLUMNS)


def test_all_bits_equal() -> None:
    found = is_the_answer_right_cold(table({}, {"request": 3}))
    assert (found.verdict, found.numbers["requests_compared"], found.numbers["replies_that_differ"]) == ("identical", 2, 0)


def test_last_bits_are_numeric_even_when_a_reply_differs() -> None:
    found = is_the_answer_right_cold(table({}, {"request": 3, "state": "numeric", "difference": 3e-6, "same_reply": False}))
    assert found.verdict == "numeric"
    assert (found.numbers["replies_compared"], found.numbers["replies_that_differ"]) == (2, 1)
    assert found.numbers["wrong_positions"] == 0


def test_a_wrong_state_has_positions_and_an_owner() -> None:
    found = is_the_answer_right_cold(
        table(
            {"request": 4, "state": "wrong", "start": 2, "end": 3, "belongs_to": 3, "difference": 1.5, "same_reply": False},
            {"request": 3, "state": "wrong", "start": 5, "end": 8, "belongs_to": 2, "difference": 1.2},
            {},
        )
    )
    assert found.verdict == "wrong_state_restored"
    numbers = found.numbers
    assert (numbers["wrong_positions"], numbers["first_wrong_request"], numbers["belongs_to_request"]) == (4, 3, 2)
    assert "[5, 8)" in found.summary
    assert [row["request"] for row in found.evidence[0].rows] == [3, 4]


def test_nothing_restored_is_not_enough() -> None:
    assert is_the_answer_right_cold(table()).verdict == "not_enough_data"
