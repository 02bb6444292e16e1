"""What an unload gave back, from looks alone: the list, the processes, and whether readings had settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.events import Event
from kvlab.findings import facts
from kvlab.findings.what_will_unload_give_back import what_will_unload_give_back
from kvlab.importers import import_file
from kvlab.lab.twin import Twin
from kvlab.units import GIB
from kvlab.workloads import case
from tests.findings.outside.seen import RUNNER_PID, look, looks_at

TESTS = Path(__file__).parents[1]
LOADED = look(["m"], [RUNNER_PID], size=18 * GIB, held=20 * GIB)
GONE = look([], [])


def alive(held: int) -> list[Event]:
    return look([], [RUNNER_PID], held=held)


def test_two_equal_readings_without_the_old_process_settle_it() -> None:
    found = what_will_unload_give_back(facts(looks_at((0.0, LOADED), (1.0, GONE), (1.5, look([], [])))))
    assert found.verdict == "all_but_process_base"
    assert found.numbers["settled_by"] == "two equal readings"
    assert found.numbers["process_given_back_bytes"] == 20 * GIB
    assert found.numbers["old_pids"] == [RUNNER_PID]
    assert found.numbers["alive_pids"] == []


def test_one_look_after_it_is_not_settled() -> None:
    found = what_will_unload_give_back(facts(looks_at((0.0, LOADED), (1.0, GONE))))
    assert found.verdict == "not_settled"
    assert "kvlab probe" in found.summary


def test_bytes_that_still_fall_settle_by_time_only() -> None:
    falling = [(1.0 + place, alive((20 - 4 * place) * GIB)) for place in range(3)]
    assert what_will_unload_give_back(facts(looks_at((0.0, LOADED), *falling))).verdict == "not_settled"
    found = what_will_unload_give_back(facts(looks_at((0.0, LOADED), *falling, (6.5, alive(2 * GIB)))))
    assert (found.verdict, found.numbers["settled_by"]) == ("process_left_behind", "time")


def test_an_empty_list_with_the_old_process_alive_is_not_released() -> None:
    found = what_will_unload_give_back(facts(looks_at((0.0, LOADED), (1.0, alive(20 * GIB)), (2.0, alive(20 * GIB)))))
    assert found.verdict == "process_left_behind"
    assert found.numbers["alive_pids"] == [RUNNER_PID]


def test_a_model_that_is_listed_again_by_the_same_process_is_still_loaded() -> None:
    again = look(["m"], [RUNNER_PID], size=18 * GIB, held=20 * GIB)
    found = what_will_unload_give_back(
        facts(looks_at((0.0, LOADED), (1.0, alive(20 * GIB)), (2.0, again), (3.0, look(["m"], [RUNNER_PID], 18 * GIB, 20 * GIB))))
    )
    assert found.verdict == "still_loaded"


def test_the_next_load_is_not_taken_for_what_followed() -> None:
    found = what_will_unload_give_back(facts(looks_at((0.0, LOADED), (1.0, GONE), (8.0, look([], [])), (9.0, look(["m"], [99], 18 * GIB, 18 * GIB)))))
    assert found.verdict == "all_but_process_base"


def test_without_an_unload_it_is_a_forecast_by_part() -> None:
    workload = case(TESTS / "cases" / "unload_forecast.json")
    assert workload.shape is not None
    found = what_will_unload_give_back(facts(Twin(workload.shape).run(workload, progress=False)))
    assert found.verdict == workload.expected["verdict"] == "all_but_process_base"
    assert {f"{name}_bytes" for name in workload.expected["forecast_rows"]} <= set(found.numbers)
    parts = [found.numbers[f"{name}_bytes"] for name in workload.expected["forecast_rows"]]
    assert sum(part for part in parts if isinstance(part, int)) == found.numbers["give_back_bytes"]


@pytest.mark.parametrize("gauge", ["mlx_pool", "footprint"])
def test_a_clear_that_only_fills_the_pool_gave_nothing_back(gauge: str) -> None:
    found = what_will_unload_give_back(facts(import_file(TESTS / "fixtures" / "samples" / "gauge_before_after.csv").recording))
    assert found.verdict == "still_loaded"
    assert found.numbers[f"{gauge}_change_bytes"] == {"mlx_pool": 15_100_000_000, "footprint": 0}[gauge]
