"""Restarting the server (experiment E2): by the user's command or by the user, proved by its process, never by the probe alone."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import kvlab
from kvlab.cli.main import main
from kvlab.errors import BadValue
from kvlab.findings import facts
from kvlab.findings.what_will_unload_give_back import what_will_unload_give_back
from kvlab.probe import Probe
from kvlab.probe.processes import Process, SystemProcesses
from kvlab.probe.restarting import restart_by
from kvlab.probe.rows import request_rows, sample_rows, sign_rows
from kvlab.workloads import Request, Workload
from tests.house.tree import ROOT
from tests.probe.recorded_server import GIB, JumpingClock, World, answer

QUESTION = kvlab.workloads.unrelated(1).requests[0]
AGAIN = Workload("again", (QUESTION, Request(label="restart", action="restart", max_new=0), QUESTION))


def away(world: World) -> None:
    world.server, world.answers["/api/ps"] = None, (503, {"error": "away"})
    world.gone()


def back(world: World) -> None:
    world.answers.clear()
    world.restart()


def states(recording: kvlab.Recording, request: int = 2) -> list[str]:
    return sign_rows(recording).filter(request=request)["state"].to_list()


def message(recording: kvlab.Recording, state: str) -> str:
    return sign_rows(recording).filter(state=state)["message"][0]


def test_by_the_command_that_was_allowed(probe_of: Callable[..., Probe], world: World) -> None:
    asked: list[str] = []
    recording = probe_of(prompt=asked.append).run(AGAIN, restart=world.restart, progress=False)
    assert asked == []
    assert states(recording) == ["restart_asked", "unlisted", "restarted", "process_gone", "unload_verified", "settled"]
    assert message(recording, "unload_verified") == "restarted: the server was process 100 and is process 5000; process 4242, which held the model, is gone"
    assert "loaded_again" in states(recording, 3)
    found = what_will_unload_give_back(facts(recording))
    assert found is not None
    assert (found.verdict, found.numbers["verified"], found.numbers["of_them_restarts"]) == ("all_but_process_base", 1, 1)
    assert kvlab.diagnose(recording).warnings == ()


def test_the_user_is_asked_and_waited_for(probe_of: Callable[..., Probe], world: World, clock: JumpingClock) -> None:
    asked: list[str] = []

    def prompt(words: str) -> None:
        asked.append(words)
        if "please restart" in words:
            clock.after(21, lambda: away(world))
            clock.after(31, lambda: back(world))

    recording = probe_of(prompt=prompt).run(AGAIN, progress=False)
    assert "process 100" in asked[0]
    assert "up to 300 s" in asked[0]
    for words in ("macOS: brew services restart ollama", "Linux: sudo systemctl restart ollama"):
        assert words in asked[0]
    assert "is back" in asked[1]
    verified = sign_rows(recording).filter(state="unload_verified")
    assert verified["seconds"].to_list() == [32.0]
    # a row a look while it was waited for
    assert sample_rows(recording).filter(request=2).height >= 15
    assert request_rows(recording)["stop"].to_list()[2] == "stop_token"
    assert "restarted" in states(recording)
    assert "loaded_again" in states(recording, 3)
    assert kvlab.diagnose(recording).warnings == ()


def test_nobody_restarts_it(probe_of: Callable[..., Probe], world: World) -> None:
    recording = probe_of(prompt=lambda _: None).run(AGAIN, restart_wait_s=30, progress=False)
    assert states(recording) == ["restart_asked", "not_restarted"]
    assert message(recording, "not_restarted") == "the server is still process 100"
    assert sign_rows(recording).filter(state="not_restarted")["seconds"].to_list() == [30.0]
    # the run goes on, and what did not happen proves and refutes nothing
    assert request_rows(recording)["stop"].to_list()[2] == "stop_token"
    assert "loaded_again" not in states(recording, 3)
    assert what_will_unload_give_back(facts(recording)).numbers["is_forecast"] == "yes"
    assert [words for words in kvlab.diagnose(recording).warnings if words.startswith("not_restarted: ")]
    assert world.server is not None


def test_it_is_not_waited_for_longer_than_the_run(probe_of: Callable[..., Probe]) -> None:
    recording = probe_of(prompt=lambda _: None).run(AGAIN, seconds=20, progress=False)
    assert sign_rows(recording).filter(state="not_restarted")["seconds"][0] <= 20
    assert any("20 s are over" in str(words) for words in recording.events["message"])


def test_a_wait_of_nothing_leaves_it_out(probe_of: Callable[..., Probe]) -> None:
    asked: list[str] = []
    recording = probe_of(prompt=asked.append).run(AGAIN, restart_wait_s=0, progress=False)
    assert asked == []
    assert states(recording) == ["restart_asked", "not_restarted"]


def test_the_command_does_not_work(probe_of: Callable[..., Probe]) -> None:
    recording = probe_of().run(AGAIN, restart=lambda: "the command ended with 1", progress=False)
    assert states(recording) == ["restart_asked", "not_restarted"]
    assert message(recording, "not_restarted") == "the command ended with 1"


def test_it_does_not_come_back(probe_of: Callable[..., Probe], world: World) -> None:
    def stop_only() -> str:
        away(world)
        return ""

    recording = probe_of().run(AGAIN, restart=stop_only, restart_wait_s=20, progress=False)
    assert message(recording, "not_restarted") == "the server does not answer"


def test_its_runner_outlives_it(probe_of: Callable[..., Probe], world: World) -> None:
    """The server is another process, its list is empty, and the old runner holds what it held."""

    def restart() -> str:
        runner = world.runner
        world.restart()
        world.runner = runner
        return ""

    world.on_ask = lambda: setattr(world, "listed", True) or setattr(world, "runner", Process(6000, 5000, "ollama runner", 60.0)) or answer()
    recording = probe_of().run(Workload("once", AGAIN.requests[:2]), restart=restart, progress=False)
    assert "left_behind" in states(recording)
    assert "unload_verified" not in states(recording)
    assert kvlab.diagnose(recording).about("what_will_unload_give_back").verdict == "process_left_behind"


def test_a_runner_that_outlives_its_server_is_no_process_that_is_gone(probe: Probe, world: World, clock: JumpingClock) -> None:
    def die() -> None:
        world.server, world.answers["/api/ps"] = None, (503, {"error": "away"})

    clock.after(3, die)
    recording = probe.watch(8, every=2)
    assert sign_rows(recording).filter(state="process_gone")["pid"].to_list() == [100]
    assert sample_rows(recording)["footprint"].to_list()[-1] == 19 * GIB


def test_a_server_that_was_away_between_two_looks_is_told_as_restarted(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: away(world))
    clock.after(7, lambda: back(world))
    found = sign_rows(probe.watch(12, every=2))
    assert found["state"].to_list() == ["answering", "failed", "process_gone", "process_gone", "answering", "unlisted", "restarted"]
    assert "was process 100 and is process 5000" in found["message"][-1]


def test_a_run_waits_for_a_server_that_restarts_by_itself(probe: Probe, world: World, clock: JumpingClock) -> None:
    """It crashes during the second request and is back 20 s later: one request is lost, not the run."""

    def crash() -> object:
        if len([1 for _, asked in world.seen if asked]) != 2:
            return None
        away(world)
        clock.after(20, lambda: back(world))
        return b""

    world.on_ask = crash
    recording = probe.run("unrelated:6", progress=False)
    assert request_rows(recording)["stop"].to_list() == ["stop_token", "failed", *["stop_token"] * 4]
    assert {"restarted", "process_gone"} <= set(states(recording, 2))
    assert len([1 for words in kvlab.diagnose(recording).warnings if words.startswith("restarted: ")]) == 1


def test_a_server_that_does_not_come_back_is_waited_for_once(probe: Probe, world: World, clock: JumpingClock) -> None:
    def crash() -> object:
        away(world)
        return b""

    world.on_ask = lambda: crash() if len([1 for _, asked in world.seen if asked]) > 1 else None
    recording = probe.run("unrelated:15", progress=False)
    assert request_rows(recording)["stop"].to_list() == ["stop_token", "failed", "failed", "failed"]
    assert clock.now() < 60


def test_processes_that_cannot_be_seen(probe_of: Callable[..., Probe], world: World, clock: JumpingClock) -> None:
    world.server = world.runner = None
    world.on_ask = lambda: setattr(world, "listed", True) or answer()

    def prompt(words: str) -> None:
        if "please restart" in words:
            world.answers["/api/ps"] = (503, {"error": "away"})
            world.listed = False
            clock.after(9, world.answers.clear)

    recording = probe_of(prompt=prompt).run(AGAIN, progress=False)
    assert "nothing proves more" in sign_rows(recording).filter(state="unlisted")["message"][-1]
    assert kvlab.diagnose(recording).about("what_will_unload_give_back").verdict == "not_settled"


def test_ctrl_c_while_it_is_waited_for(probe_of: Callable[..., Probe], clock: JumpingClock, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    probe = probe_of(prompt=lambda _: clock.after(7, interrupt))
    with pytest.raises(KeyboardInterrupt):
        probe.run(AGAIN, progress=False, out=str(tmp_path / "r.kvrec"))
    again = kvlab.load(tmp_path / "r.kvrec")
    assert again.requests["stop"].to_list()[0] == "stop_token"
    assert "interrupted from the keyboard" in again.events["message"].to_list()
    assert kvlab.diagnose(again).warnings


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f'"{sys.executable}" -c pass', ""),
        (f'"{sys.executable}" -c "raise SystemExit(3)"', "the command ended with 3"),
        ("/nowhere/of/the/kind --now", "the command could not be run: no such file or directory"),
    ],
)
def test_a_command(command: str, told: str) -> None:
    assert restart_by(command)() == told


@pytest.mark.parametrize("command", ["", "  ", 'say "unfinished'])
def test_what_is_no_command(command: str, url: str) -> None:
    with pytest.raises(BadValue):
        restart_by(command)
    assert main(["probe", "--url", url, "--workload", "E2", "--restart-with", command]) == 2


ORPHANING = """
import socket, subprocess, sys
listener = socket.create_server(("127.0.0.1", 0))
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(listener.getsockname()[1], child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_the_system_still_tells_a_runner_whose_server_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        port, child = map(int, parent.stdout.readline().split())
        processes = SystemProcesses(port)
        before = processes.family()
        parent.kill()
    try:
        after = processes.family()
        assert after.server is None
        assert after.runners == before.runners
        assert [one.pid for one in after.holders] == [child]
    finally:
        psutil.Process(child).kill()
    psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=10)
    assert processes.family().holders == ()


SERVE = """
import sys
from kvlab.probe.stand_in import stand_in
with stand_in("smollm2", port=int(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


class Service:
    """The stand-in as a process of its own, which can be ended and begun anew on the same port."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.begin()
        self.up()

    def begin(self) -> None:
        words = [sys.executable, "-c", SERVE, str(self.port)]
        self.process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def up(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("http")

    def end(self) -> None:
        self.process.kill()
        with self.process:
            pass


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    with suppress(OSError):
        made.end()


def test_the_stand_in_restarts(service: Service, clock: JumpingClock) -> None:
    """A real process that ends while it is waited for, and another one on its port."""
    old = service.process.pid

    def prompt(words: str) -> None:
        if "please restart" in words:
            service.end()
            service.begin()
            clock.after(5, service.up)

    probe = Probe(f"http://127.0.0.1:{service.port}", clock=clock, prompt=prompt)
    recording = probe.run("E2", progress=False)
    assert states(recording, 4) == ["unload_asked", "unload_accepted", "unlisted", "unload_verified", "settled"]
    assert states(recording, 12)[0] == "restart_asked"
    assert {"restarted", "unload_verified"} <= set(states(recording, 12))
    assert f"was process {old} and is process {service.process.pid}" in message(recording, "restarted")
    assert "loaded_again" in states(recording, 13)
    rows = request_rows(recording)
    assert rows["runner_pid"].to_list()[12] == service.process.pid
    assert rows["stop"].to_list()[12] == "limit"
    found = what_will_unload_give_back(facts(recording))
    assert found is not None
    assert found.verdict == "all_but_process_base"
