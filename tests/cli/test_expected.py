"""A case's `expected`: what is wrong in it is told, whichever key it stands under, and what nobody judges is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvlab.cli.expected import seen_of
from kvlab.lab import open_twin
from kvlab.recording.reported import ps_size
from kvlab.workloads import case

Kvlab = Callable[..., Any]
FULL = "budget_short_unrelated_60"


def changed(folder: Path, case: Path, **expected: Any) -> Path:
    data = json.loads(case.read_text())
    data["expected"] |= expected
    path = folder / "changed.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("name", "expected", "what"),
    [
        ("budget_short_unrelated_15", {"verdict": "adds_up"}, "verdict"),
        ("budget_short_unrelated_15", {"size_gb_decimal": {"after_1": 18.6, "after_15": 99.0}}, "size_gb_decimal.after_15"),
        ("budget_short_unrelated_15", {"size_gb_decimal": {"after_15": 23.2}}, "size_gb_decimal.after_15"),
        ("budget_short_unrelated_15", {"size_gb_decimal": {"after_16": 23.1}}, "size_gb_decimal.after_16"),
        ("budget_short_unrelated_15", {"plateau_gb_decimal": 23.1}, "plateau_gb_decimal"),
        (FULL, {"plateau_gb_decimal": 99}, "plateau_gb_decimal"),
        (FULL, {"plateau_shown_by_ps": "31 GB"}, "plateau_shown_by_ps"),
        ("unload_forecast", {"forecast_rows": ["weights", "live"]}, "forecast_rows"),
        ("growing_cold_ladder_pinned", {"control": "capture_as=view gives zero gap"}, "under the control, pinned bytes"),
        ("tokens/lazy_overwrite", {"control": {"copy_before_overwrite": "first_append"}}, "under the control, violations"),
        ("tokens/lazy_overwrite", {"control_checkpoints": [{"request": 3, "cached": 2}]}, "under the control, cached"),
        ("tokens/grown_in_place_free_all", {"control": {"version": "0.32.7"}}, "under the control, warnings"),
        ("tokens/cancelled_prefill", {"control_verdict": "resumes_where_it_stopped"}, "under the control, verdict"),
        ("tokens/active_path_grows", {"control_paged_out_bytes_max": 59}, "under the control, paged_out_bytes at most"),
        ("tokens/unrelated_prompts", {"live_capacity_tokens_used": 43}, "live_capacity_tokens_used"),
        ("tokens/mid_edge_refused", {"violation": "something else"}, "violation"),
    ],
)
def test_a_wrong_figure_is_told_and_fails_a_check(kvlab_says: Kvlab, cases: Path, tmp_path: Path, name: str, expected: dict[str, Any], what: str) -> None:
    said = kvlab_says("check", changed(tmp_path, cases / f"{name}.json", **expected), "--json")
    assert said.code == 1
    assert said.json["expected"]["holds"] is False
    assert [row["what"] for row in said.json["expected"]["differences"]] == [what]


def test_twin_judges_as_check_does(kvlab_says: Kvlab, cases: Path) -> None:
    for name in (FULL, "tokens/lazy_overwrite", "tokens/mid_edge_refused"):
        path = cases / f"{name}.json"
        assert kvlab_says("twin", path, "--json").json["expected"] == kvlab_says("check", path, "--json").json["expected"]


def test_what_nobody_judges_is_said_and_not_counted_as_held(kvlab_says: Kvlab, cases: Path, tmp_path: Path) -> None:
    path = changed(tmp_path, cases / "growing_cold_ladder_pinned.json", pinned_per_capture_bytes_at_chunk_512=3, note="a note")
    told = kvlab_says("check", path, "--json").json["expected"]
    why = {row["key"]: row["why"] for row in told["not_judged"]}
    assert set(why) == {"reason", "how_to_see", "note", "pinned_per_capture_bytes_at_chunk_512"}
    assert not set(why) & set(told["judged"])
    assert "2048" in why["pinned_per_capture_bytes_at_chunk_512"]
    assert "not judged: reason" in kvlab_says("twin", path).out


@pytest.mark.parametrize("expected", [{"reason": "because"}, {"control": {"version": "main"}}, {"control": "another way"}])
def test_words_alone_hold_nothing(kvlab_says: Kvlab, tmp_path: Path, expected: dict[str, Any]) -> None:
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"layers": ["kv"], "workload": [{"tokens": [1, 2]}], "expected": expected}))
    told = kvlab_says("check", path, "--json").json["expected"]
    assert (told["holds"], told["judged"]) == (None, [])
    said = kvlab_says("check", path)
    assert said.code == 0
    assert f"not judged: {next(iter(expected))} (" in said.out
    assert "what the case expects" not in said.out


def test_changed_rules_are_not_judged_by_the_files_figures(kvlab_says: Kvlab, cases: Path) -> None:
    path = cases / "budget_short_unrelated_15.json"
    for more in (("--set", "capture_grid=16"), ("--budget", "1GiB"), ("--policy", "main"), ("--shape", "smollm2")):
        told = kvlab_says("twin", path, *more, "--json").json["expected"]
        assert (told["holds"], told["judged"]) == (None, [])
        assert [row["key"] for row in told["not_judged"]] == ["expected"]
        assert more[0] in told["not_judged"][0]["why"]


def test_published_figures_are_met_more_closely(cases: Path) -> None:
    recording = open_twin(["kv"]).run("unrelated:1", progress=False)
    for name, paged in (("chat_50_turns_before", 0.005), (FULL, 0.01)):
        assert seen_of(recording, {}, case(cases / f"{name}.json")).paged_gib == paged


def test_a_typo_is_refused_by_the_command(kvlab_says: Kvlab, cases: Path, tmp_path: Path) -> None:
    said = kvlab_says("check", changed(tmp_path, cases / f"{FULL}.json", verdictt="budget"))
    assert said.code == 2
    assert "'verdictt'" in said.err


# as Ollama's format/bytes.go prints them
@pytest.mark.parametrize(
    ("count", "text"),
    [(26_825_955_738, "26 GB"), (10 * 10**9, "10 GB"), (9_990_000_000, "10.0 GB"), (5 * 10**9, "5 GB"), (1_500_000, "1.5 MB"), (999, "999 B")],
)
def test_a_size_as_ps_prints_it(count: int, text: str) -> None:
    assert ps_size(count) == text
