"""Unloading (experiment E2): accepted is not done. The list, the old process and a load that really happens are the proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kvlab
from kvlab.probe import Probe
from kvlab.probe.processes import Family, Process
from kvlab.probe.rows import request_rows, sign_rows
from kvlab.workloads import Request, Workload
from tests.probe.recorded_server import GIB, MODEL, RUNNER, JumpingClock, World, answer

QUESTION = kvlab.workloads.unrelated(1).requests[0]
UNLOAD = Request(label="unload", action="unload", max_new=0)
AGAIN = Workload("again", (QUESTION, UNLOAD, QUESTION))


def signs(recording: kvlab.Recording, request: int) -> list[tuple[str, int | None]]:
    return [(row["state"], row["pid"]) for row in sign_rows(recording).filter(request=request).iter_rows(named=True)]


def states(recording: kvlab.Recording, request: int) -> list[str]:
    return [state for state, _ in signs(recording, request)]


def message(recording: kvlab.Recording, state: str) -> str:
    return sign_rows(recording).filter(state=state)["message"][0]


def test_proved(probe: Probe, world: World) -> None:
    recording = probe.run(AGAIN, progress=False)
    assert states(recording, 2) == ["unload_asked", "unload_accepted", "unlisted", "process_gone", "unload_verified", "settled"]
    assert "4242 is gone" in message(recording, "unload_verified")
    assert ("loaded_again", 5000) in signs(recording, 3)
    assert "0.030 s" in message(recording, "loaded_again")
    assert request_rows(recording)["runner_pid"].to_list() == [4242, None, 5000]
    asked = [body for _, body in world.seen if body]
    assert asked[1] == {"model": MODEL, "prompt": "", "keep_alive": 0, "stream": False}


def test_it_takes_a_while(probe: Probe, world: World, clock: JumpingClock) -> None:
    world.on_unload = lambda: clock.after(20, world.gone)
    recording = probe.run(AGAIN, progress=False)
    verified = sign_rows(recording).filter(state="unload_verified")
    assert verified["seconds"].to_list() == [20.0]


def test_the_process_outlives_the_list_by_less_than_five_seconds(probe: Probe, world: World, clock: JumpingClock) -> None:
    def unload() -> None:
        world.listed = False
        clock.after(4, world.gone)

    world.on_unload = unload
    recording = probe.run(AGAIN, progress=False)
    assert "unload_verified" in states(recording, 2)
    assert "left_behind" not in states(recording, 2)


def test_the_list_is_empty_and_the_process_lives(probe: Probe, world: World) -> None:
    world.on_unload = lambda: setattr(world, "listed", False)
    recording = probe.run(Workload("once", (QUESTION, UNLOAD)), progress=False)
    assert signs(recording, 2).count(("left_behind", 4242)) == 1
    assert "unload_verified" not in states(recording, 2)
    assert request_rows(recording)["footprint"].to_list() == [19 * GIB] * 2


def test_the_old_process_answers_again(probe: Probe, world: World) -> None:
    world.on_unload = lambda: setattr(world, "listed", False)
    recording = probe.run(AGAIN, progress=False)
    assert ("left_behind", 4242) in signs(recording, 3)
    assert "loaded_again" not in states(recording, 3)


def test_it_stays_in_the_list(probe: Probe, world: World) -> None:
    world.on_unload = lambda: None
    recording = probe.run(Workload("once", (QUESTION, UNLOAD)), progress=False)
    assert "not_settled" in states(recording, 2)
    assert "still listed" in message(recording, "not_settled")
    assert sign_rows(recording).filter(state="not_settled")["seconds"][0] == 60.0


@pytest.mark.parametrize("told", [{"done": True, "done_reason": "load"}, {"done": True}, (500, {"error": "no"}), b"?"], ids=["load", "none", "500", "no json"])
def test_it_is_refused(probe: Probe, world: World, told: Any) -> None:
    world.answers["unload"] = told
    world.on_unload = lambda: None
    recording = probe.run(Workload("once", (QUESTION, UNLOAD)), progress=False)
    assert states(recording, 2) == ["unload_asked", "unload_refused"]


def test_it_was_not_loaded(probe_of: Callable[..., Probe], world: World) -> None:
    world.gone()
    recording = probe_of(model=MODEL).run(Workload("once", (UNLOAD,)), progress=False)
    assert states(recording, 1) == ["unload_asked", "unload_accepted", "settled"]
    assert "not listed before" in message(recording, "unload_asked")


def test_of_several_models_one_goes(probe: Probe, world: World) -> None:
    other = Process(4300, 100, "ollama runner", 3.0)
    both = world.listing()["models"] * 2
    both[1] = both[1] | {"name": "other"}
    world.answers["/api/ps"] = {"models": both}

    class Both:
        gone = False

        def family(self) -> Family:
            return Family(world.server, (other,) if self.gone else (RUNNER, other))

    processes = Both()

    def unload() -> None:
        processes.gone = True
        world.answers["/api/ps"] = {"models": both[1:]}

    world.on_unload = unload
    probe._processes, probe.model = processes, MODEL
    assert "unload_verified" in states(probe.run(Workload("once", (UNLOAD,)), progress=False), 1)


def test_a_server_that_holds_its_models_itself(probe: Probe, world: World) -> None:
    world.runner = None
    world.on_ask = lambda: setattr(world, "listed", True) or answer()
    world.on_unload = lambda: setattr(world, "listed", False)
    recording = probe.run(AGAIN, progress=False)
    assert "unload_verified" in states(recording, 2)
    assert "holds its models itself" in message(recording, "unload_verified")
    assert "cannot be seen" in message(recording, "loaded_again")


def test_another_machines_processes_prove_nothing(probe: Probe, world: World) -> None:
    world.server = world.runner = None
    world.on_ask = answer
    world.on_unload = lambda: setattr(world, "listed", False)
    recording = probe.run(Workload("once", (QUESTION, UNLOAD)), progress=False)
    assert "unload_verified" not in states(recording, 2)
    assert "nothing proves" in sign_rows(recording).filter(state="unlisted")["message"][-1]


def test_by_ollama_stop(probe_of: Callable[..., Probe], world: World) -> None:
    asked: list[str] = []

    def stop(_: object, model: str) -> str:
        asked.append(model)
        world.gone()
        return ""

    recording = probe_of(stop=stop).run(AGAIN, progress=False, unload_by="stop")
    assert asked == [MODEL]
    assert "unload_verified" in states(recording, 2)
    assert message(recording, "unload_asked") == "by stop"
    assert all(body.get("keep_alive") != 0 for _, body in world.seen)


def test_ollama_stop_does_not_work(probe_of: Callable[..., Probe]) -> None:
    recording = probe_of(stop=lambda *_: "the command ollama is not installed here").run(AGAIN, progress=False, unload_by="stop")
    assert states(recording, 2) == ["unload_asked", "unload_refused"]


def test_e2_three_times(probe: Probe) -> None:
    recording = probe.run("E2", progress=False)
    found = sign_rows(recording)
    assert found.filter(state="unload_verified").height == 3
    assert found.filter(state="loaded_again").height == 3
    assert message(recording, "restart_asked") == "by the user, within 300 s"
    assert message(recording, "unload_verified") == "no longer listed, and process 4242 is gone"
    assert found.filter(state="unload_verified")["message"][2].startswith("restarted: the server was process 100 and is process ")


def test_a_workload_without_unload_never_unloads(probe: Probe, world: World) -> None:
    probe.run("A1", progress=False)
    assert all(body.get("keep_alive") != 0 for _, body in world.seen)


def test_an_action_that_is_not_ours_is_told(probe: Probe) -> None:
    recording = probe.run(Workload("dance", (Request(label="dance", action="dance", max_new=0),)), progress=False)
    assert "'dance'" in recording.events.filter(kind="warned")["message"][0]
