"""`kvlab faults`: the catalogue and one entry, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Kvlab = Callable[..., Any]

LISTED = {f"F-{number:02}" for number in (*range(1, 26), *range(28, 32))}
"""What the catalogue must hold at least."""


def test_the_catalogue_as_json(kvlab_says: Kvlab) -> None:
    said = kvlab_says("faults", "--json")
    assert said.code == 0
    rows = {row["id"]: row for row in said.json["faults"]}
    assert rows.keys() >= LISTED
    assert len(rows) == len(said.json["faults"])
    for row in rows.values():
        assert row.keys() >= {"id", "name", "symptom", "layers", "versions", "status", "choice", "issue"}
        assert row["status"] in ("switch", "lifecycle", "documented only")
        assert bool(row["reason"]) == (row["status"] != "switch")
        assert bool(row["choice"]) or row["status"] != "switch"


def test_the_catalogue_as_text_has_a_row_an_entry(kvlab_says: Kvlab) -> None:
    said = kvlab_says("faults")
    assert said.code == 0
    first = [line.split("  ")[0] for line in said.out.splitlines()]
    assert set(first) >= LISTED


@pytest.mark.parametrize("name", ["F-14", "f14", "lazy snapshot overwritten"])
def test_an_entry_runs_in_both_arms(kvlab_says: Kvlab, name: str) -> None:
    said = kvlab_says("faults", name, "--twin-only", "--json")
    assert said.code == 0
    assert said.json["id"] == "F-14"
    assert said.json["differ_in"] == ["copy_before_overwrite"]
    fault, cured = said.json["arms"]
    assert (fault["policy"]["copy_before_overwrite"], cured["policy"]["copy_before_overwrite"]) == ("first_append", "every_append")
    assert fault["policy"] | {"copy_before_overwrite": ""} == cured["policy"] | {"copy_before_overwrite": ""}
    # the case of the public study: the third request restores a slot of the second
    assert fault["figures"]["wrong_positions"] == [{"request": 3, "layer": "kv", "positions": [2, 3], "belongs_to_request": 2}]
    assert cured["figures"]["wrong_positions"] == []


def test_experiment_c_is_clean_in_its_first_round_and_cured_by_one_choice(kvlab_says: Kvlab) -> None:
    said = kvlab_says("faults", "C", "--twin-only", "--json")
    assert said.code == 0
    assert (said.json["id"], said.json["differ_in"]) == ("F-14", ["copy_before_overwrite"])
    fault, cured = (arm["figures"] for arm in said.json["arms"])
    # 16 tasks in 3 rounds, as the report has them
    assert fault["calls"] == cured["calls"] == 48
    assert min(fault["requests_with_wrong_positions"]) > 16
    assert cured["requests_with_wrong_positions"] == []


def test_an_entry_on_arrays_too(kvlab_says: Kvlab) -> None:
    said = kvlab_says("faults", "F-12", "--json")
    assert [(arm["arm"], arm["where"] == "the twin") for arm in said.json["arms"]] == [("fault", True), ("cured", True), ("fault", False), ("cured", False)]
    assert [arm["figures"]["cached_tokens"] for arm in said.json["arms"]] == [0, 4, 0, 4]


def test_an_entry_as_text_marks_what_differs(kvlab_says: Kvlab) -> None:
    said = kvlab_says("faults", "F-18", "--twin-only")
    assert said.code == 0
    assert "on_cancel: discard and attach" in said.out
    marked = [line.split()[1] for line in said.out.splitlines() if line.strip().startswith("* ")]
    assert "cached_tokens" in marked
    assert "matched_tokens" not in marked


@pytest.mark.parametrize(("name", "says"), [("F-99", "no entry"), ("", "no entry"), ("captures", "entries"), ("F-33", "cannot be run")])
def test_what_cannot_be_run_is_told_with_a_reason(kvlab_says: Kvlab, name: str, says: str) -> None:
    said = kvlab_says("faults", name)
    assert said.code == 2
    assert says in said.err
    assert said.out == ""
