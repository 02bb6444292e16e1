"""What a case may expect: every key of the handed cases, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvlab.errors import BadValue
from kvlab.workloads import case

CASES = Path(__file__).parents[1] / "cases"


def written(folder: Path, expected: object) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({"id": "mine", "layers": ["kv"], "workload": [{"tokens": [1, 2, 3]}], "expected": expected}))
    return path


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"verdictt": "budget"}, ("mine.json, expected", "'verdictt'", "did you mean 'verdict'?")),
        ({"checkpoints": [{"request": 1, "nods": 99}]}, ("expected, checkpoints[0]", "'nods'", "did you mean 'nodes'?")),
        ({"checkpoints": [{"request": 1, "node": 3}]}, ("expected, checkpoints[0]", "'node'", "did you mean 'nodes'?")),
        ({"control": {"version": "main"}, "control_checkpoints": [{"request": 1, "nods": 1}]}, ("control_checkpoints[0]", "'nods'")),
        ({"checkpoints": [{"nodes": 3}]}, ("checkpoints[0]", "request is missing")),
        ({"checkpoints": [{"request": 1}]}, ("checkpoints[0]", "matched is missing")),
        ({"checkpoints": [{"request": 0, "nodes": 3}]}, ("request is 0",)),
        ({"checkpoints": [{"request": 1, "nodes": -3}]}, ("nodes is -3",)),
        ({"checkpoints": [{"request": 1, "paged_gib": "1"}]}, ("paged_gib is '1'",)),
        ({"checkpoints": [{"request": 1, "wrong_positions": [2, 3]}]}, ("belongs_to_request is missing",)),
        ({"checkpoints": [{"request": 1, "wrong_positions": [3, 2], "belongs_to_request": 1}]}, ("wrong_positions is [3, 2]",)),
        ({"checkpoints": {}}, ("checkpoints is {}",)),
        ({"checkpoints": [3]}, ("checkpoints[0] is 3",)),
        ({"size_gb_decimal": {"afer_15": 23.1}}, ("expected, size_gb_decimal", "'afer_15'")),
        ({"size_gb_decimal": {"after_1": 18.6, "after_x": 23.1}}, ("expected, size_gb_decimal", "'after_x'")),
        ({"size_gb_decimal": {"after_15": "23"}}, ("after_15 is '23'",)),
        ({"size_gb_decimal": {}}, ("size_gb_decimal is {}",)),
        ({"plateau_gb_decimal": float("nan")}, ("plateau_gb_decimal is nan",)),
        ({"plateau_shown_by_ps": "bananas"}, ("plateau_shown_by_ps is 'bananas'",)),
        ({"forecast_rows": ["weights", "bananas"]}, ("forecast_rows", "'bananas'")),
        ({"forecast_rows": []}, ("forecast_rows is []",)),
        ({"pinned_per_capture_bytes_at_chunk_x": 3}, ("'pinned_per_capture_bytes_at_chunk_x'",)),
        ({"pinned_per_capture_bytes_at_chunk_8": -3}, ("pinned_per_capture_bytes_at_chunk_8 is -3",)),
        ({"paged_out_bytes": [1, -1]}, ("paged_out_bytes is [1, -1]",)),
        ({"nodes": 3}, ("nodes is 3",)),
        ({"control": {"budget": 3}}, ("expected, control", "'budget'")),
        ({"control": 3}, ("control is 3",)),
        ({"control_violations": 0}, ("control_violations is 0",)),
        ({"control": "a cure in words", "control_verdict": "budget"}, ("control_verdict is 'budget'",)),
        ({"verdict": 3}, ("verdict is 3",)),
        ("budget", ("expected is 'budget'",)),
    ],
)
def test_what_cannot_be_expected_is_named_with_file_key_and_value(tmp_path: Path, expected: object, words: tuple[str, ...]) -> None:
    with pytest.raises(BadValue) as caught:
        case(written(tmp_path, expected))
    for word in (str(tmp_path / "mine.json"), *words):
        assert word in str(caught.value)


def test_every_key_of_the_handed_cases_is_known() -> None:
    paths = sorted(CASES.rglob("*.json"))
    assert paths
    for path in paths:
        data: dict[str, Any] = json.loads(path.read_text())
        assert case(path).expected == data["expected"]
