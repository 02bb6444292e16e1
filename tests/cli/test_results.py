from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.cli.result_json import result, violations
from kvlab.events import BytesRead, Event, Matched, RequestClosed, WrongPositions
from kvlab.findings import diagnose
from kvlab.lab.lab import Lab
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.studies import machine
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
    assert set(said.json) == {"warnings", "findings"}
    keys = {"question", "verdict", "summary", "numbers", "confidence", "evidence", "refuted_by", "missing"}
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


@pytest.fixture
def interrupted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kvlab run` opens a small real model; the user interrupts it in the second forward of the third prompt."""
    prefill = MLXModel.prefill
    model = random_llama()
    forwards = itertools.count(1)

    def interrupted(tokens: Any) -> None:
        if next(forwards) == 2 * 3:
            raise KeyboardInterrupt
        prefill(model, tokens)

    monkeypatch.setattr(model, "prefill", interrupted)
    monkeypatch.setattr(kvlab, "open", lambda *_, **__: Lab(model, Policy(snapshots="eager")))


@pytest.mark.usefixtures("interrupted_model")
def test_what_was_recorded_before_the_user_interrupted_a_prefill_is_kept(kvlab_says: Kvlab, tmp_path: Path) -> None:
    out = tmp_path / "cut.kvrec"
    said = kvlab_says("run", "unrelated:5", "--out", out, "--json")
    assert said.code == 130
    assert said.out == ""
    assert said.err == f"kvlab: interrupted; what was recorded until here is in {out}\n"
    recording = kvlab.load(out)
    assert not recording.complete
    assert recording.requests.get_column("stop").to_list() == ["limit", "limit", "cancelled"]
    assert recording.events.filter(request=3, kind="chunk_ran").height == 1
    assert kvlab_says("diagnose", out).out.startswith("warning: this recording was cut short; it has 3 requests\n")
    told = kvlab_says("diagnose", out, "--json").json
    assert told["warnings"] == ["this recording was cut short; it has 3 requests"]
    assert {finding["confidence"] for finding in told["findings"]} <= {"medium", "low"}
    assert kvlab_says("report", out, "-o", tmp_path / "cut.html").code == 0
    assert "this recording was cut short; it has 3 requests" in (tmp_path / "cut.html").read_text()


@pytest.mark.usefixtures("interrupted_model")
def test_an_interrupted_run_without_a_folder_says_that_nothing_is_kept(kvlab_says: Kvlab) -> None:
    assert kvlab_says("run", "unrelated:5", "--json").err == "kvlab: interrupted; nothing was kept, --out NAME.kvrec keeps what is recorded\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [(("run", "repeat:2"), "interrupted before anything was recorded"), (("demo",), "interrupted before anything was recorded"), (("doctor",), "interrupted")],
)
def test_an_earlier_recording_is_not_taken_for_what_was_interrupted(
    kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    kvlab.twin("smollm2").run(unrelated(1), out="demo.kvrec", progress=False)
    monkeypatch.setattr(kvlab, "open", interrupted)
    monkeypatch.setattr(machine, "look", interrupted)
    assert kvlab_says(*words, *(("--out", "demo.kvrec") if words[0] == "run" else ())).err == f"kvlab: {said}\n"


def test_what_the_budget_counts_beside_snapshots_is_not_paged_out() -> None:
    recording = recorded(
        Matched(tokens=9, left=9, reason="nothing_shared", request=1),
        BytesRead(phase="close", weights=1000, live=100, counted=160, paged_out=50, snapshots=60, active=1160, pool=7, request=1),
        RequestClosed(generated=1, request=1),
        policy={"budget_counts": "resident"},
    )
    (row,) = result(recording, diagnose(recording))["requests"]
    assert (row["counted_bytes"], row["paged_out_bytes"], row["reported_bytes"]) == (160, 50, 1000 + 100 + 50 + 7)


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
