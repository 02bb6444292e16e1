"""A recording says what it leaves out and what of its shape was fitted, wherever it is printed; what would have to be folded from it is null."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kvlab
from kvlab.cli import main
from kvlab.errors import UnreadableInput
from kvlab.findings import diagnose
from kvlab.lab import twin
from kvlab.recording import Manifest, Recording
from kvlab.recording.caveats import LEFT_OUT
from kvlab.views.card import card
from kvlab.views.chrome_trace import FORWARDS, PHASES, chrome_trace
from kvlab.views.dashboard.dataset import dataset_of
from kvlab.views.markdown_block import markdown_block
from kvlab.views.report import report_html
from kvlab.views.waterfall_chart import phases_table, waterfall_chart
from kvlab.workloads import Request, Workload
from tests.views.trace_format import problems

REPLY = 4


def run(requests: int, *, store_text: bool = False, check: bool = False) -> Recording:
    asked = (Request(tokens=tuple(range(20 * place, 20 * place + 9)), max_new=REPLY, ignore_stop=True) for place in range(requests))
    return kvlab.twin(["recurrent", "kv"]).run(Workload("many", tuple(asked)), progress=False, store_text=store_text, check=check)


@pytest.fixture(scope="module")
def whole() -> Recording:
    return run(3)


@pytest.fixture(scope="module")
def brief() -> Recording:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twin, "MOST_DETAILED_REQUESTS", 2)
        return run(3)


def test_a_run_of_more_than_500_requests_names_in_its_manifest_what_it_leaves_out() -> None:
    made = run(501)
    assert made.events.filter(kind="token_out").height == 501
    assert set(made.manifest.left_out) == set(LEFT_OUT)
    assert json.loads(made.manifest.to_json())["left_out"] == list(made.manifest.left_out)


@pytest.mark.parametrize(("requests", "most", "choices"), [(500, 500, {}), (3, 2, {"store_text": True}), (3, 2, {"check": True})])
def test_a_run_that_stores_every_event_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch, requests: int, most: int, choices: dict[str, bool]) -> None:
    monkeypatch.setattr(twin, "MOST_DETAILED_REQUESTS", most)
    made = run(requests, **choices)
    assert made.manifest.left_out == ()
    assert made.events.filter(kind="token_out").height == requests * REPLY
    assert "left out" not in repr(made) + card(made)


def test_what_is_left_out_is_kept_by_the_file(brief: Recording, tmp_path: Path) -> None:
    for name in ("many.kvrec", "many.kvrec.zip"):
        again = kvlab.load(brief.save(tmp_path / name))
        assert again.manifest.left_out == brief.manifest.left_out
        assert "left out" in repr(again)


def test_a_manifest_of_before_has_nothing_to_say_and_a_wrong_one_is_refused(brief: Recording) -> None:
    held = brief.manifest.to_dict()
    assert Manifest.from_json(json.dumps(held), "m") == brief.manifest
    del held["left_out"]
    assert Manifest.from_json(json.dumps(held), "m").left_out == ()
    with pytest.raises(UnreadableInput, match="left_out"):
        Manifest.from_json(json.dumps(held | {"left_out": "tokens"}), "m")


def test_recording_card_report_and_markdown_print_it(brief: Recording) -> None:
    made = brief
    printed = (repr(made), card(made), report_html(made), markdown_block(made, diagnose(made)))
    for text in printed:
        assert "left out" in text
        assert all(words.split(" (")[0] in text for words in LEFT_OUT.values())


def test_the_command_prints_it_as_text_and_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(twin, "MOST_DETAILED_REQUESTS", 2)
    assert main(["twin", "unrelated:3", "--shape", "qwen3.8-27b"]) == 0
    text = capsys.readouterr().out
    assert "left out: tokens of a reply but the last" in text
    assert "fitted: weights_bytes, look_ahead of the shape" in text
    assert main(["twin", "unrelated:3", "--shape", "smollm2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == list(LEFT_OUT)


def test_lengths_of_phases_are_null_where_their_events_are_left_out(brief: Recording, whole: Recording) -> None:
    phases = phases_table(brief)
    assert phases.height > 0
    assert phases["start"].null_count() == phases["end"].null_count() == phases.height
    assert phases_table(whole)["end"].null_count() == 0
    title = waterfall_chart(brief).to_dict()["title"]
    assert "events of phases are left out" in title["subtitle"]
    assert dataset_of(brief).whole()["left_out"] == list(LEFT_OUT)


def test_bytes_during_a_prefill_are_null_where_its_readings_are_left_out(brief: Recording, whole: Recording) -> None:
    for made, known in ((brief, False), (whole, True)):
        for request in (1, 2, 3):
            events = made.events.filter(request=request)
            chunk = events.filter(kind="chunk_ran")["seq"].to_list()
            (attached,) = events.filter(kind="bytes_read", phase="attach")["seq"].to_list()
            (begun,) = events.filter(kind="bytes_read", phase="begin")["seq"].to_list()
            assert made.at(begun).bytes["phase"] == "begin"
            assert made.at(attached).bytes["phase"] == "attach"
            assert bool(made.at(chunk[0]).bytes) is known
            assert bool(made.at(attached - 1).bytes) is known


def test_a_trace_has_neither_phases_nor_tokens_that_it_cannot_place(brief: Recording, whole: Recording) -> None:
    trace = chrome_trace(brief)
    assert problems(trace) == []
    slices = [row for row in trace["traceEvents"] if row["ph"] == "X"]
    assert not [row for row in slices if row["tid"] == PHASES]
    assert {row["name"].split()[0] for row in slices if row["tid"] == FORWARDS} == {"prefill"}
    assert "left out" in trace["otherData"]
    every = [row for row in chrome_trace(whole)["traceEvents"] if row["ph"] == "X"]
    assert {row["name"].split()[0] for row in every if row["tid"] == FORWARDS} == {"prefill", "decode"}
    assert {row["name"] for row in every if row["tid"] == PHASES} >= {"prefill", "decode"}


def test_a_recording_names_the_fitted_constants_of_its_shape() -> None:
    made = kvlab.twin("qwen3.8-27b").run("unrelated:2", progress=False)
    assert made.manifest.origin["fitted"] == "weights_bytes, look_ahead"
    for text in (repr(made), card(made), report_html(made), markdown_block(made, diagnose(made))):
        assert "weights_bytes, look_ahead of the shape were chosen so that published figures come out" in text
    plain = kvlab.twin("smollm2").run("unrelated:2", progress=False)
    assert "fitted" not in plain.manifest.origin
    assert "fitted" not in repr(plain) + card(plain)
