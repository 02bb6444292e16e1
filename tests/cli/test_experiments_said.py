"""Experiments, scales, traces and what a case expects, on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvlab.cli.expected import judge
from kvlab.cli.expected_figures import PAGED_GIB, PUBLISHED_GIB, Seen
from kvlab.units import GIB

Kvlab = Callable[..., Any]


def test_a_real_run_of_an_experiment_is_fitted_and_says_so(kvlab_says: Kvlab) -> None:
    said = kvlab_says("run", "A1", "--model", "tiny-hybrid")
    assert said.code == 0
    assert "A1 with its published token counts, a budget of" in said.out
    assert "budget_or_leak: budget_filling" in said.out


def test_a_real_run_takes_a_scale_and_keeps_its_arm(kvlab_says: Kvlab) -> None:
    said = kvlab_says("run", "D1:before", "--model", "tiny-sliding", "--scale", "1/32", "--json")
    assert said.code == 0
    assert said.json["workload"] == "D1:before"
    assert said.json["policy"]["protect"] == "active_path"
    assert [row["tokens"] for row in said.json["requests"]] == [679 + 30, 679 + 64, 679 + 64]


def test_the_experiments_model_and_shape_are_the_default(kvlab_says: Kvlab) -> None:
    assert kvlab_says("twin", "D4", "--json").json["model"] == "qwen3.8-27b"
    assert kvlab_says("twin", "D4", "--shape", "smollm2", "--json").json["model"] == "smollm2"


def test_a_version_takes_the_place_of_an_experiments_arm(kvlab_says: Kvlab) -> None:
    assert kvlab_says("twin", "D4:before", "--json").json["policy"]["protect"] == "active_path"
    assert kvlab_says("twin", "D4:before", "--policy", "main", "--json").json["policy"]["protect"] == "frontier_and_branches"


def test_a_scaled_twin_keeps_the_verdict(kvlab_says: Kvlab) -> None:
    whole, small = (kvlab_says("twin", "B", *more, "--json").json for more in ((), ("--scale", "1/16")))
    verdicts = [{one["question"]: one["verdict"] for one in said["findings"]}["budget_or_leak"] for said in (whole, small)]
    assert verdicts == ["leak", "leak"]
    assert small["requests"][-1]["tokens"] == whole["requests"][-1]["tokens"] / 16
    assert small["policy"]["budget_bytes"] < whole["policy"]["budget_bytes"]


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf", "1/0", "a", "1e9", "1/"])
def test_a_scale_that_is_none_is_named(kvlab_says: Kvlab, scale: str) -> None:
    said = kvlab_says("twin", "B", f"--scale={scale}")
    assert said.code == 2
    assert repr(scale) in said.err


def test_a_real_run_unloads_its_model(kvlab_says: Kvlab) -> None:
    said = kvlab_says("run", "E2", "--model", "tiny-hybrid")
    assert said.code == 0
    assert re.search(r"The last of 3 unloads gave [\d.]+ MiB back", said.out)


def test_a_trace_runs_by_path(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"timestamp": at, "input_length": 700, "output_length": 4, "hash_ids": [1, 2 + at]}) + "\n" for at in range(3)))
    said = kvlab_says("twin", path, "--json")
    assert said.json["model"] == "qwen3.8-27b"
    assert [row["matched"] for row in said.json["requests"]] == [0, 511, 511]


def test_the_text_of_a_long_run_shows_its_ends(kvlab_says: Kvlab) -> None:
    lines = kvlab_says("twin", "unrelated:301").out.splitlines()
    place = lines.index("... 101 requests ...")
    assert (lines[place - 1].split()[0], lines[place + 1].split()[0]) == ("100", "202")


def test_a_wrong_figure_in_a_case_is_told_and_fails_a_check(kvlab_says: Kvlab, cases: Path, tmp_path: Path) -> None:
    case = json.loads((cases / "budget_short_unrelated_15.json").read_text())
    case["expected"]["checkpoints"][1] |= {"nodes": 7, "paged_gib": 0.9}
    case["expected"]["verdict"] = "leak"
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(case))
    said = kvlab_says("check", path, "--json")
    assert said.code == 1
    assert not said.json["expected"]["holds"]
    assert {(row["what"], row["request"]) for row in said.json["expected"]["differences"]} == {("verdict", None), ("nodes", 2), ("paged_gib", 2)}
    assert kvlab_says("twin", path, "--json").code == 0
    told = kvlab_says("check", path)
    assert told.code == 1
    assert "nodes of request 2: expected 7, got 6" in told.out


def test_tolerances_are_those_of_the_printed_figures() -> None:
    def told(gib: float, paged: float) -> list[dict[str, Any]]:
        row = {"request": 1, "paged_out_bytes": gib * GIB, "reported_bytes": 25.0 * GIB}
        result = {"requests": [row], "findings": [], "violations": [], "policy": {}}
        return list(judge({"checkpoints": [{"request": 1, "paged_gib": 7.92, "reported_gib": 24.96}]}, Seen(result, paged_gib=paged)).differences)

    assert told(7.9299, PAGED_GIB) == []
    assert told(7.925, PUBLISHED_GIB) == []
    assert [row["what"] for row in told(7.9299, PUBLISHED_GIB)] == ["paged_gib"]
    assert [row["what"] for row in told(7.9401, PAGED_GIB)] == ["paged_gib"]


def test_the_stale_snapshot_names_positions_and_owner_and_the_ladder_bytes_per_capture(kvlab_says: Kvlab, cases: Path) -> None:
    said = kvlab_says("twin", cases / "stale_lazy_snapshot.json", "--json").json
    wrong = said["requests"][3]["wrong_positions"]
    assert wrong
    assert all(one["belongs_to_request"] == 3 and one["positions"][0] < one["positions"][1] <= 2000 for one in wrong)
    ladder = kvlab_says("twin", cases / "growing_cold_ladder_pinned.json", "--json").json
    numbers = {one["question"]: one["numbers"] for one in ladder["findings"]}["who_holds_it"]
    assert (numbers["counted_per_capture_bytes"], numbers["pinned_per_capture_bytes"]) == (1_474_560, 1_008_107_520)


CASES = sorted((Path(__file__).parents[1] / "cases").rglob("*.json"))
SOME = [path for path in CASES if path.parent.name != "upstream" or path.stem.endswith("0")]
"""Of the cases of upstream's own code a tenth: tests/upstream holds all."""


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_every_case_holds_on_the_twin(kvlab_says: Kvlab, path: Path) -> None:
    said = kvlab_says("twin", path, "--json")
    assert said.json["expected"]["holds"] is True
    checked = kvlab_says("check", path, "--json")
    words = {"reason", "note", "source", "how_to_see", "settle_rule"}
    assert checked.json["expected"]["holds"] is True
    assert {row["key"] for row in checked.json["expected"]["not_judged"]} <= words
    assert set(checked.json["expected"]["judged"]) == set(json.loads(path.read_text())["expected"]) - words
