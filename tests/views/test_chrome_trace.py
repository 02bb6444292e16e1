"""Recordings as trace events: valid, with slices, counters and flows where the events say."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.cli.main import main
from kvlab.recording import Recording
from kvlab.views.chrome_trace import FORWARDS, LAYERS, PHASES, REQUESTS, chrome_trace
from tests.views.trace_format import problems


def run(workload: str) -> Recording:
    twin = kvlab.twin(["recurrent", "kv"])
    return twin.run(workload, progress=False)


@pytest.mark.parametrize("workload", ["unrelated:6", "branches:6", "chat:5"])
def test_a_trace_follows_the_format(workload: str) -> None:
    trace = json.loads(json.dumps(chrome_trace(run(workload)), allow_nan=False))
    assert problems(trace) == []
    assert trace["displayTimeUnit"] == "ms"
    # a twin's times are no model's
    assert "no model's seconds" in trace["otherData"]["times"]
    assert any("no model's seconds" in row["args"]["name"] for row in trace["traceEvents"] if row["name"] == "process_name")


def test_made_by_hand_it_holds_what_happened(pair: Recording) -> None:
    trace = chrome_trace(pair)
    assert problems(trace) == []
    rows: list[dict[str, Any]] = trace["traceEvents"]
    assert [row["name"] for row in rows if row["ph"] == "X" and row["tid"] == REQUESTS] == ["request 1 first", "request 2 <b>&second"]
    assert {row["name"] for row in rows if row["ph"] == "X" and row["tid"] == PHASES} == {"attach", "close"}
    begun = [row for row in rows if row["ph"] == "b"]
    # snapshot 1 is lazy, placed, owned; 2 and 3 are taken and placed, 4 is taken and placed: a slice for each version
    assert len(begun) == 3 + 2 + 2 + 2
    assert {row["pid"] for row in begun} == {LAYERS}
    counters = [row["args"] for row in rows if row["ph"] == "C" and row["name"] == "bytes by owner"]
    assert [counter["snapshots"] for counter in counters] == [0, 0, 10 * 2**20, 10 * 2**20]
    # what does not add up with the owners has a track of its own
    beside = {row["name"]: set(row["args"]) for row in rows if row["ph"] == "C" and row["name"] != "bytes by owner"}
    assert beside == {f"{name} bytes": {name} for name in ("counted", "budget", "active")}
    assert "times" not in trace["otherData"]
    assert {row["name"] for row in rows if row["ph"] == "i"} == {"node_split #1", "warned"}


def test_every_layer_group_phase_and_forward_has_slices() -> None:
    recording = run("chat:4")
    rows = chrome_trace(recording)["traceEvents"]
    assert {row["tid"] for row in rows if row["ph"] == "b"} == {1, 2}
    phases = {(row["args"]["request"], row["name"]) for row in rows if row["ph"] == "X" and row["tid"] == PHASES}
    assert phases >= {(request, phase) for request in range(1, 5) for phase in ("begin", "prefill", "decode", "close")}
    forwards = [row["name"] for row in rows if row["ph"] == "X" and row["tid"] == FORWARDS]
    chunks = recording.events.filter(kind="chunk_ran")
    assert [name for name in forwards if name.startswith("prefill")] == [
        f"prefill [{start}, {end})" for start, end in chunks.select("start", "end").iter_rows()
    ]


def test_a_restore_is_a_flow_from_the_request_that_made_the_node() -> None:
    recording = run("branches:6")
    rows = chrome_trace(recording)["traceEvents"]
    flows = [row for row in rows if row["ph"] in "sf" and row.get("cat") == "restore"]
    assert flows
    made = dict(recording.nodes.select("node", "request").iter_rows())
    foreign = [(node, request) for node, request in recording.events.filter(kind="paged_in").select("node", "request").iter_rows() if made[node] != request]
    assert len(flows) == 2 * len(foreign)


def test_the_command_writes_it(pair: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair.save(tmp_path / "pair.kvrec")
    out = tmp_path / "pair.trace.json"
    assert main(["export", str(tmp_path / "pair.kvrec"), "--as", "chrome-trace", "-o", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert problems(json.loads(out.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: rows.append({"ph": "X", "name": "x"}), "lacks cat, pid, tid, ts, dur"),
        (lambda rows: rows.append({"ph": "Z", "name": "x"}), "lacks unknown ph"),
        (lambda rows: rows.append({"ph": "b", "name": "x", "cat": "c", "pid": 1, "tid": 1, "ts": 0, "id": 1}), "begins and ends +1"),
        (lambda rows: rows.append({"ph": "C", "name": "x", "pid": 1, "ts": 0, "args": {"a": "b"}}), "counts what is no number"),
        (lambda rows: rows.append({"ph": "i", "name": "x", "cat": "c", "pid": 1, "tid": 1, "ts": -1, "s": "t"}), "is at -1"),
        (
            lambda rows: rows.extend({"ph": "X", "name": "x", "cat": "c", "pid": 9, "tid": 9, "ts": at, "dur": 10} for at in (0, 5)),
            "thread 9/9: slices at 5 and 10 overlap",
        ),
    ],
)
def test_what_is_wrong_is_told(pair: Recording, change: Any, told: str) -> None:
    trace = copy.deepcopy(chrome_trace(pair))
    change(trace["traceEvents"])
    assert any(told in line for line in problems(trace))
