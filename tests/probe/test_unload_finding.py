"""The finding on an unload that a probe asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kvlab
from kvlab.findings import facts
from kvlab.findings.what_will_unload_give_back import what_will_unload_give_back
from kvlab.probe import Probe
from kvlab.workloads import Request, Workload
from tests.probe.recorded_server import GIB, World, answer

QUESTION = kvlab.workloads.unrelated(1).requests[0]
AGAIN = Workload("again", (QUESTION, Request(label="unload", action="unload", max_new=0), QUESTION))


def verdict(probe: Probe, workload: Workload = AGAIN) -> str:
    found = what_will_unload_give_back(facts(probe.run(workload, progress=False)))
    assert found.question == "what_will_unload_give_back"
    return found.verdict


def test_proved(probe: Probe) -> None:
    found = what_will_unload_give_back(facts(probe.run(AGAIN, progress=False)))
    assert found.verdict == "all_but_process_base"
    assert (found.numbers["unloads"], found.numbers["verified"], found.numbers["loaded_again"]) == (1, 1, 1)
    assert found.numbers["size_before_bytes"] == 18 * GIB
    assert found.numbers["footprint_before_bytes"] == 19 * GIB
    assert found.numbers["footprint_after_bytes"] == 0
    assert found.numbers["longest_load_s"] == 0.03
    assert "18.00 GiB" in found.summary


def test_left_behind(probe: Probe, world: World) -> None:
    world.on_unload = lambda: setattr(world, "listed", False)
    found = what_will_unload_give_back(facts(probe.run(AGAIN, progress=False)))
    assert found.verdict == "process_left_behind"
    assert found.numbers["footprint_after_bytes"] == 19 * GIB


def test_left_behind_shows_at_the_next_request_only(probe: Probe, world: World) -> None:
    """The runner is hidden while we look and answers the next request."""
    runner = world.runner

    def hide() -> None:
        world.gone()

    def back() -> object:
        world.listed, world.runner = True, runner
        return answer()

    world.on_unload, world.on_ask = hide, back
    assert verdict(probe) == "process_left_behind"


def test_still_listed(probe: Probe, world: World) -> None:
    world.on_unload = lambda: None
    assert verdict(probe) == "still_loaded"


def test_refused(probe: Probe, world: World) -> None:
    world.answers["unload"] = (500, {"error": "no"})
    world.on_unload = lambda: None
    assert verdict(probe) == "still_loaded"


def test_processes_that_cannot_be_seen(probe: Probe, world: World) -> None:
    world.server = world.runner = None
    world.on_ask = answer
    world.on_unload = lambda: setattr(world, "listed", False)
    assert verdict(probe, Workload("once", AGAIN.requests[:2])) == "not_settled"


def test_no_unload_is_a_forecast(probe: Probe) -> None:
    assert what_will_unload_give_back(facts(probe.run("unrelated:2", progress=False))).numbers["is_forecast"] == "yes"


@pytest.mark.parametrize("way", ["api", "stop"])
def test_both_ways(probe_of: Callable[..., Probe], world: World, way: str) -> None:
    def stop(*_: object) -> str:
        world.gone()
        return ""

    found = what_will_unload_give_back(facts(probe_of(stop=stop).run("E2", progress=False, unload_by=way)))
    assert (found.verdict, found.numbers["verified"]) == ("all_but_process_base", 3)
