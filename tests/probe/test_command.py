"""`kvlab probe` on the command line."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

import kvlab
from kvlab.cli.main import main
from tests.probe.recorded_server import GIB, World

HERE = ["--pid", str(os.getpid())]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks nothing has to be waited for: the recorded server changes only when it is asked."""
    monkeypatch.setattr("kvlab.probe.writer.SystemClock.wait", lambda *_: None)


def test_one_look(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--url", url, *HERE]) == 0
    shown = capsys.readouterr().out
    assert "server 0.33.1 on this machine" in shown
    assert "18.00" in shown
    assert "GiB" in shown


def test_a_workload(url: str, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.grows = GIB
    out = tmp_path / "p.kvrec"
    assert main(["probe", "--url", url, *HERE, "--workload", "unrelated:3", "--requests", "2", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "question 2" in shown
    assert "question 3" not in shown
    assert "20.00" in shown
    assert "warning: the run ends after 2 of 3 requests" in shown
    assert "budget_or_leak" in shown
    assert kvlab.load(out).manifest.source == "probe"
    assert main(["diagnose", str(out)]) == 0


def test_json(url: str, world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.grows = GIB
    assert main(["probe", "--url", url, *HERE, "--workload", "E2", "--restart-wait", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) >= {"workload", "model", "server", "requests", "samples", "signs", "findings", "warnings"}
    assert told["server"] == {"version": "0.33.1", "where": "this machine", "port": int(url.rpartition(":")[2])}
    # ten questions and an unload, a stop and a restart
    assert [row["request"] for row in told["requests"]] == list(range(1, 14))
    assert told["requests"][0]["size_bytes"] == 19 * GIB
    assert {"unload_asked", "unload_accepted"} <= {sign["state"] for sign in told["signs"]}


def test_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert main(["probe", "--url", f"127.0.0.1:{port}", *HERE]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[0] == f"kvlab: no server of Ollama's API answered at http://127.0.0.1:{port}"
    assert "connection refused; neither" in shown.err
    assert len(shown.err.splitlines()) == 3


@pytest.mark.parametrize("words", [["--workload", "unrelated:2"], ["--workload", "unrelated:2", "--model", "m"], ["--watch", "0.2"], ["--json"]])
def test_nobody_answers_and_something_is_asked(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    out = tmp_path / "p.kvrec"
    assert main(["probe", "--url", f"127.0.0.1:{port}", *HERE, *words, "--out", str(out)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 3
    assert "refused" in kvlab.load(out).events["state"].to_list()


def test_a_server_of_another_api_can_be_watched_and_not_asked(url: str, world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.answers |= dict.fromkeys(("/api/version", "/api/ps", "/api/tags"), (404, b"Not Found"))
    assert main(["probe", "--url", url, *HERE]) == 0
    shown = capsys.readouterr()
    assert "footprint" in shown.out
    assert "HTTP 404" in shown.out
    world.on_ask = lambda: (404, b"Not Found")
    assert main(["probe", "--url", url, *HERE, "--workload", "unrelated:2", "--model", "m", "--requests", "1"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "why: HTTP 404" in shown.err
    assert "mlx_lm.server" in shown.err


@pytest.mark.parametrize("answer", [(404, b"Not Found"), (200, b"null"), (200, b"[]"), (200, b"{}"), (200, b"\xff\x00"), (302, b"")])
@pytest.mark.parametrize("words", [[], ["--watch", "0.2"], ["--json"], ["--workload", "unrelated:1", "--model", "m"]])
def test_a_good_recording_is_not_given_for_a_server_that_answered_nothing(
    url: str, world: World, answer: tuple[int, bytes], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(out), progress=False)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    world.answers |= dict.fromkeys(("/api/version", "/api/ps", "/api/tags"), answer)
    world.on_ask = lambda: answer
    assert main(["probe", "--url", url, *HERE, *words, "--out", str(out)]) == 2
    assert "is as it was" in (shown := capsys.readouterr().err) or "was not replaced" in shown
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "http://example.net"],
        ["--workload", "A1", "--watch", "5"],
        ["--workload", "A1", "--read-only"],
        ["--workload", "nothing-of-the-kind"],
        ["--watch", "-1"],
        ["--watch", "nan"],
        ["--watch", "5", "--every", "0"],
        ["--workload", "unrelated:2", "--requests", "0"],
        ["--log", "nowhere.log"],
    ],
)
def test_wrong_use(url: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = words if "--url" in words else ["--url", url, *words]
    assert main(["probe", *given]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_chat_of_token_ids_cannot_be_asked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--url", url, *HERE, "--workload", "D4"]) == 2
    assert "token ids" in capsys.readouterr().err


@pytest.mark.parametrize("workload", ["A1", "A3", "B", "C1", "E1", "E1:context", "E1:concurrency", "E2"])
def test_every_experiment_can_be_put_to_a_server(url: str, workload: str, capsys: pytest.CaptureFixture[str]) -> None:
    scale = ["--scale", "0.05"] if workload in ("A3", "B") else []
    assert main(["probe", "--url", url, *HERE, "--workload", workload, *scale, "--requests", "20", "--restart-wait", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    asked = [row for row in told["requests"] if row["label"]]
    assert asked
    assert {row["stop"] for row in asked} == {"stop_token"}
