"""The cases of this version hold through `kvlab check CASE --json`, in both arms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvlab.units import GIB

Kvlab = Callable[..., Any]

HOLD = (
    "budget_fixed_rate_moe",
    "budget_short_unrelated_15",
    "budget_short_unrelated_60",
    "chat_50_turns_after",
    "chat_50_turns_before",
    "exact_repeat_leaves_one_token",
    "grid_restore_after_cold",
    "grid_restore_plain_kv",
    "tokens/active_path_grows",
    "tokens/cancelled_prefill",
    "tokens/grown_in_place_free_all",
    "tokens/lazy_overwrite",
    "tokens/mid_edge_refused",
    "tokens/page_out_skips_head",
    "tokens/unrelated_prompts",
)

BREAK = {
    "tokens/grown_in_place_free_all": {"kv_covers_edge"},
    "tokens/lazy_overwrite": {"lazy_intact", "restored_right"},
    "tokens/mid_edge_refused": {"cached_is_matched", "kv_covers_edge"},
}
"""The rules that a case's defect breaks."""

CONTROLLED = [name for name in HOLD if name.startswith("tokens/") and name != "tokens/unrelated_prompts"]
"""The token cases that name a control: all but the one that shows no defect."""


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
        if "warning" in checkpoint:
            assert any(checkpoint["warning"] in warning for warning in row["warnings"])
    if "paged_out_bytes" in expected:
        assert [row["paged_out_bytes"] for row in rows] == expected["paged_out_bytes"]
    if isinstance(expected.get("nodes"), list):
        assert [row["nodes"] for row in rows] == expected["nodes"]
    if "violation" in expected:
        assert expected["violation"] in {row["detail"] for row in said.json["violations"]}
    broken = {row["rule"] for row in said.json["violations"]}
    assert broken == BREAK.get(name, set())
    assert said.code == (1 if broken else 0)


@pytest.mark.parametrize("name", CONTROLLED)
def test_the_control_arm_shows_nothing(kvlab_says: Kvlab, cases: Path, name: str) -> None:
    path = cases / f"{name}.json"
    expected = json.loads(path.read_text())["expected"]
    flags: list[str] = []
    for field, value in expected["control"].items():
        flags += ["--policy", value] if field == "version" else ["--set", f"{field}={value}"]
    said = kvlab_says("check", path, *flags, "--json")
    rows = said.json["requests"]
    for checkpoint in expected.get("control_checkpoints", []):
        row = rows[checkpoint["request"] - 1]
        assert {key: row[key] for key in ("matched", "cached")} == {key: checkpoint[key] for key in ("matched", "cached")}
    if "control_paged_out_bytes_max" in expected:
        assert max(row["paged_out_bytes"] for row in rows) <= expected["control_paged_out_bytes_max"]
    if "control_verdict" in expected:
        verdicts = {finding["verdict"] for finding in said.json["findings"]}
        assert expected["control_verdict"] in verdicts
        return
    assert said.json["violations"] == []
    assert not any(row["warnings"] or row["wrong_positions"] for row in rows)


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
