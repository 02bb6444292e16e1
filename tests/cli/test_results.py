from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.cli.result_json import result, violations
from kvlab.diagnose import diagnose
from kvlab.events import BytesRead, Event, Matched, RequestClosed, WrongPositions
from kvlab.recording import Manifest, Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import unrelated

Kvlab = Callable[..., Any]

REQUEST_KEYS = {
    "request", "matched", "cached", "left", "nodes", "paged_out_bytes", "counted_bytes", "live_bytes", "retained_bytes", "active_bytes",
    "unattributed_bytes", "peak_bytes", "reported_bytes", "generated", "ttft_s", "reason", "limiting_layer", "warnings", "wrong_positions",
}  # fmt: skip


def recorded(*events: Event, **manifest: Any) -> Recording:
    for seq, event in enumerate(events):
        event.seq, event.source = seq, event.source or "lab"
    return Recording.of(Manifest.now(model="m", **manifest), events)


def test_twin_prints_the_json_of_the_surface(kvlab_says: Kvlab) -> None:
    said = kvlab_says("twin", "unrelated:4", "--json")
    assert said.code == 0
    assert {"workload", "model", "policy", "requests", "violations", "findings"} <= set(said.json)
    assert said.json["workload"] == "unrelated:4"
    assert [row["request"] for row in said.json["requests"]] == [1, 2, 3, 4]
    for row in said.json["requests"]:
        assert set(row) >= REQUEST_KEYS
        assert "text" not in row
        weights = row["retained_bytes"] - row["live_bytes"] - row["counted_bytes"]
        assert row["reported_bytes"] == weights + row["live_bytes"] + row["paged_out_bytes"]


def test_twin_as_text_has_a_row_a_request_and_the_verdict(kvlab_says: Kvlab) -> None:
    said = kvlab_says("twin", "repeat:3")
    assert "counted" in said.out
    assert "MiB" in said.out
    assert "why_not_reused: reused_in_full" in said.out


def test_twin_takes_a_shape_file(kvlab_says: Kvlab, tmp_path: Path) -> None:
    shape = Shape("mine", (LayerGroup("kv", (0,), bytes_per_token=7),))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(shape.to_dict()))
    said = kvlab_says("twin", "repeat:2", "--shape", path, "--json")
    assert said.json["model"] == "mine"
    assert said.json["requests"][0]["live_bytes"] == 256 * 7


def test_a_budget_and_single_choices_reach_the_run(kvlab_says: Kvlab) -> None:
    said = kvlab_says("twin", "unrelated:3", "--budget", "1MiB", "--set", "capture_grid=64", "--set", "evict_at=begin,close", "--json")
    policy = said.json["policy"]
    assert (policy["budget_bytes"], policy["capture_grid"], policy["evict_at"]) == (2**20, 64, ["begin", "close"])


def test_a_kept_recording_is_diagnosed_reported_and_packed(kvlab_says: Kvlab, tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    assert kvlab_says("twin", "unrelated:5", "--out", out, "--json").code == 0
    said = kvlab_says("diagnose", out, "--json")
    assert said.code == 0
    assert set(said.json) == {"findings"}
    keys = {"question", "verdict", "summary", "numbers", "confidence", "evidence", "refuted_by"}
    assert all(set(finding) == keys for finding in said.json["findings"])
    assert "budget_or_leak: budget_filling" in kvlab_says("diagnose", out).out
    packed = kvlab_says("pack", out)
    assert packed.code == 0
    assert "holds no prompts or answers" in packed.out
    assert kvlab.load(tmp_path / "run.kvrec.zip").requests.height == 5
    page = tmp_path / "report.html"
    assert kvlab_says("report", tmp_path / "run.kvrec.zip", "-o", page).code == 0
    assert "budget_filling" in page.read_text()


def test_run_uses_the_model_it_was_told(kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def opened(name: str, *, accept_licence: bool = False) -> Any:
        asked.append((name, accept_licence))
        return kvlab.twin("smollm2")

    monkeypatch.setattr(kvlab, "open", opened)
    said = kvlab_says("run", "repeat:2", "--model", "mine", "--accept-licence", "--policy", "kvlab", "--json")
    assert said.code == 0
    assert asked == [("mine", True)]
    assert "close" in said.json["policy"]["evict_at"]
    assert [row["label"] for row in said.json["requests"]] == ["time 1", "time 2"]
    assert "repeat:2 on smollm2" in kvlab_says("run", "repeat:2").out
    assert asked[1] == ("smollm2", False)


def test_what_the_user_interrupted_is_kept(kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    twin = kvlab.twin("smollm2")
    stepped = twin._stepped

    def interrupted(runner: Any, request: Any, predict: Any) -> Any:
        if request.label == "question 3":
            raise KeyboardInterrupt
        yield from stepped(runner, request, predict)

    monkeypatch.setattr(twin, "_stepped", interrupted)
    monkeypatch.setattr(kvlab, "twin", lambda _shape: twin)
    out = tmp_path / "cut.kvrec"
    said = kvlab_says("twin", "unrelated:5", "--out", out)
    assert said.code == 130
    assert "interrupted" in said.err
    assert kvlab.load(out).requests.height == 2


def test_live_buffers_counted_by_the_budget_are_not_paged_out() -> None:
    recording = recorded(
        Matched(tokens=9, left=9, reason="nothing_shared", request=1),
        BytesRead(phase="close", weights=1000, live=100, counted=150, snapshots=60, active=1160, pool=7, request=1),
        RequestClosed(generated=1, request=1),
        policy={"budget_counts": "resident"},
    )
    (row,) = result(recording, diagnose(recording))["requests"]
    assert (row["counted_bytes"], row["paged_out_bytes"], row["reported_bytes"]) == (150, 50, 1000 + 100 + 50 + 7)


def test_a_request_that_was_killed_has_nulls_and_a_wrong_position_alone_is_a_violation() -> None:
    shape = Shape("s", (LayerGroup("recurrent", (0, 2)), LayerGroup("kv", (1, 3))))
    recording = recorded(
        Matched(tokens=9, matched=4, cached=4, left=5, reason="reused_in_full", request=1),
        WrongPositions(group=1, layer="kv", start=2, end=4, belongs_to=7, request=1),
        shape=shape,
    )
    (row,) = result(recording, diagnose(recording))["requests"]
    assert row["reported_bytes"] is None
    assert row["wrong_positions"] == [{"layer": 1, "kind": "kv", "positions": [2, 4], "belongs_to_request": 7}]
    assert violations(recording) == [{"request": 1, "rule": "restored_right", "detail": "kv positions [2, 4) belong to request 7"}]


def test_stored_answers_are_in_the_json() -> None:
    recording = recorded(
        Matched(tokens=9, left=9, reason="nothing_shared", request=1),
        RequestClosed(generated=1, text="Paris.", request=1),
        stored_text=True,
    )
    assert result(recording, diagnose(recording))["requests"][0]["text"] == "Paris."


def test_json_of_a_run_can_be_written_whatever_was_recorded() -> None:
    recording = kvlab.twin("smollm2").run(unrelated(2), progress=False)
    json.dumps(result(recording, diagnose(recording)), allow_nan=False)
