"""Ctrl-C, a kill and a closed recording: what was recorded until then is read like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import kvlab
from kvlab.probe import Probe
from kvlab.probe.rows import request_rows, sample_rows
from tests.house.tree import ROOT
from tests.probe.recorded_server import STALL, JumpingClock, World


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_watch_ends_well(probe: Probe, clock: JumpingClock, tmp_path: Path) -> None:
    clock.after(5, interrupt)
    recording = probe.watch(600, every=2, out=str(tmp_path / "w.kvrec"))
    assert recording.complete
    assert sample_rows(kvlab.load(tmp_path / "w.kvrec")).height == 3


def test_a_run_keeps_what_it_has(probe: Probe, clock: JumpingClock, tmp_path: Path) -> None:
    clock.after(1.2, interrupt)
    out = tmp_path / "run.kvrec"
    with pytest.raises(KeyboardInterrupt):
        probe.run("unrelated:15", progress=False, out=str(out))
    assert probe.recording is not None
    for recording in (probe.recording, kvlab.load(out)):
        assert not recording.complete
        assert recording.requests["stop"].to_list() == ["stop_token"] * 3
        assert "interrupted from the keyboard" in recording.events["message"].to_list()
        assert kvlab.diagnose(recording).warnings


def test_a_run_in_a_temporary_folder_keeps_it_too(probe: Probe, clock: JumpingClock) -> None:
    clock.after(1.2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        probe.run("unrelated:15", progress=False)
    assert probe.recording is not None
    assert request_rows(probe.recording).height == 3


def test_requests_that_run_are_told_as_cancelled(probe: Probe, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interruption comes while four requests wait for a server that is silent."""
    asked = kvlab.workloads.resolve("series:concurrency").requests[16:]
    waiting = threading.Semaphore(0)

    def silent() -> object:
        waiting.release()
        return STALL

    world.on_ask = silent
    joined = threading.Thread.join
    told = False

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        nonlocal told
        if not told and threading.current_thread() is threading.main_thread():
            told = True
            for _ in range(4):
                waiting.acquire(timeout=30)
            raise KeyboardInterrupt
        joined(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", join)
    with pytest.raises(KeyboardInterrupt):
        probe.run(kvlab.workloads.Workload("at once", asked), progress=False)
    assert probe.recording is not None
    rows = request_rows(probe.recording)
    assert rows.height == 4
    assert set(rows["stop"]) == {"cancelled"}


CODE = """
import sys
from kvlab.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_on_the_command_line(url: str, world: World, tmp_path: Path) -> None:
    reached = threading.Event()

    def silent() -> object:
        if len([1 for _, body in world.seen if body]) == 2:
            reached.set()
            return STALL
        return None

    world.on_ask = silent
    out = tmp_path / "run.kvrec"
    command = [sys.executable, "-c", CODE, "probe", "--url", url, "--workload", "unrelated:5", "--pid", str(os.getpid()), "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert reached.wait(60)
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; what was recorded until here is in" in told
    assert "question 1" in shown
    assert "Traceback" not in told
    recording = kvlab.load(out)
    assert recording.requests["stop"].to_list() == ["stop_token", "cancelled"]


def test_no_thread_outlives_a_run(probe_of: Callable[..., Probe]) -> None:
    before = set(threading.enumerate())
    probe_of().run("unrelated:2", progress=False)
    mine = [thread for thread in threading.enumerate() if thread not in before and isinstance(thread, threading.Timer)]
    for thread in mine:
        thread.join(10)
    assert [thread for thread in mine if thread.is_alive()] == []
