"""A stand-in whose sizes are a twin's: what is behind the server is known, so the verdict from outside can be right or wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.findings import Finding
from kvlab.probe import Probe, request_rows, sign_rows
from kvlab.probe.stand_in import stand_in
from tests.probe.recorded_server import JumpingClock


def asked(tmp_path: Path, workload: str, policy: kvlab.Policy | None, version: str) -> kvlab.Recording:
    log = tmp_path / "server.log"
    log.touch()
    with stand_in(policy=policy, version=version, log=log) as url:
        probe = Probe(url, log=log, clock=JumpingClock())
        return probe.run(workload, restart_wait_s=0, progress=False)


def growth(recording: kvlab.Recording) -> Finding:
    return kvlab.diagnose(recording).about("budget_or_leak")


def test_a_lawful_cache_fills_its_budget(tmp_path: Path) -> None:
    recording = asked(tmp_path, "unrelated:35", kvlab.Policy.ollama("0.33.1"), "0.33.1")
    found = growth(recording)
    assert found.verdict == "budget"
    assert found.numbers["budget_bytes"] == 8 * 2**30
    twin = kvlab.twin("qwen3.8-27b").run("unrelated:35", kvlab.Policy.ollama("0.33.1"), progress=False)
    sizes = request_rows(recording)["size"]
    assert recording.requests["matched"].to_list() == twin.requests["matched"].to_list()
    assert recording.requests["cached"].to_list() == twin.requests["cached"].to_list()
    assert sizes.to_list() == twin.requests["retained"].to_list()


def test_fifteen_requests_of_it_are_still_filling(tmp_path: Path) -> None:
    assert growth(asked(tmp_path, "A1", kvlab.Policy.ollama("0.33.1"), "0.33.1")).verdict == "budget_filling"


def test_a_cache_that_pins_its_buffers_leaks(tmp_path: Path) -> None:
    assert growth(asked(tmp_path, "ladder:1024..16384", kvlab.Policy.ollama("0.30.8"), "0.30.8")).verdict == "leak"


def test_unloading_begins_anew(tmp_path: Path) -> None:
    recording = asked(tmp_path, "E2", None, "0.33.1")
    signs = sign_rows(recording)
    assert signs.filter(state="unload_verified", request=4).height == 1
    # there is no command ollama that could stop it, and its process is this one
    assert signs.filter(request=8).is_empty()
    assert signs.filter(request=12)["state"].to_list() == ["restart_asked", "not_restarted"]
    rows = request_rows(recording)
    assert rows["listed"].to_list()[:8] == [1, 1, 1, 0, 1, 1, 1, None]
    # the request after an unload begins at what the first one took
    assert rows.filter(request=5)["size"].item() < rows.filter(request=3)["size"].item()


def test_a_plain_prompt_and_a_call_that_is_none(tmp_path: Path) -> None:
    with stand_in("smollm2") as url:
        probe = Probe(url, clock=JumpingClock())
        rows = request_rows(probe.run(kvlab.Request(prompt="Once upon a time there was", max_new=3), progress=False))
        assert rows["tokens"].to_list() == [6]
        assert rows["stop"].to_list() == ["limit"]
        assert rows["generated"].to_list() == [3]
    del tmp_path


def test_a_model_that_is_not_known() -> None:
    with pytest.raises(BadValue), stand_in("no-such-model"):
        pass
