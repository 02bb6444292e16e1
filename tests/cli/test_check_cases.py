"""The cases of this version hold through `kvlab check CASE --json`, in both arms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvlab.units import GIB

Kvlab = Callable[..., Any]

HOLD = ("exact_repeat_leaves_one_token", "grid_restore_plain_kv", "tokens/unrelated_prompts", "tokens/lazy_overwrite")


@pytest.mark.parametrize("name", HOLD)
def test_the_case_holds(kvlab_says: Kvlab, cases: Path, name: str) -> None:
    path = cases / f"{name}.json"
    case = json.loads(path.read_text())
    expected = case["expected"]
    said = kvlab_says("check", path, "--json")
    verdicts = {finding["question"]: finding["verdict"] for finding in said.json["findings"]}
    assert verdicts[case["question"]] == expected["verdict"]
    rows = said.json["requests"]
    for checkpoint in expected.get("checkpoints", []):
        row = rows[checkpoint["request"] - 1]
        for key in ("matched", "cached", "left", "nodes"):
            if key in checkpoint:
                assert row[key] == checkpoint[key]
        if "paged_gib" in checkpoint:
            assert row["paged_out_bytes"] / GIB == pytest.approx(checkpoint["paged_gib"], abs=0.01)
        if "wrong_positions" in checkpoint:
            (wrong,) = row["wrong_positions"]
            assert wrong == {
                "layer": 0,
                "kind": "kv",
                "positions": checkpoint["wrong_positions"],
                "belongs_to_request": checkpoint["belongs_to_request"],
            }
    if "paged_out_bytes" in expected:
        assert [row["paged_out_bytes"] for row in rows] == expected["paged_out_bytes"]
    has_wrong = any(row["wrong_positions"] for row in rows)
    assert bool(said.json["violations"]) == has_wrong
    assert said.code == (1 if has_wrong else 0)


def test_the_choice_that_cures_the_overwrite_leaves_no_violation(kvlab_says: Kvlab, cases: Path) -> None:
    said = kvlab_says("check", cases / "tokens" / "lazy_overwrite.json", "--set", "copy_before_overwrite=every_append", "--json")
    assert said.code == 0
    assert said.json["violations"] == []
    assert all(not row["wrong_positions"] for row in said.json["requests"])
    assert said.json["policy"]["copy_before_overwrite"] == "every_append"
    verdicts = {finding["question"]: finding["verdict"] for finding in said.json["findings"]}
    assert verdicts["is_the_answer_right"] == "identical"


def test_a_wrong_position_is_a_violation_with_its_rule(kvlab_says: Kvlab, cases: Path) -> None:
    said = kvlab_says("check", cases / "tokens" / "lazy_overwrite.json", "--json")
    assert any(row["rule"] == "restored_right" and row["request"] == 3 for row in said.json["violations"])
    assert all(set(row) == {"request", "rule", "detail"} for row in said.json["violations"])


def test_the_version_changes_and_the_cases_single_choices_stay(kvlab_says: Kvlab, cases: Path) -> None:
    said = kvlab_says("check", cases / "tokens" / "unrelated_prompts.json", "--policy", "kvlab", "--json")
    assert "close" in said.json["policy"]["evict_at"]
    assert said.json["policy"]["budget_bytes"] == 200


def test_check_as_text_says_what_broke(kvlab_says: Kvlab, cases: Path) -> None:
    said = kvlab_says("check", cases / "tokens" / "lazy_overwrite.json")
    assert said.code == 1
    assert "restored_right" in said.out
    assert "wrong_state_restored" in said.out
    said = kvlab_says("check", "repeat:2", "--layers", "kv,kv")
    assert said.code == 0
    assert "no rule was broken in 2 requests" in said.out
