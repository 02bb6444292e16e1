"""Counted bytes that a log's dumps or a table tell, under the budget of the server's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.events import BytesRead, Event, RequestBegan, RequestClosed
from kvlab.importers import import_file
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import GIB, MIB
from kvlab.workloads import case
from tests.findings.outside.seen import recording_of
from tests.importers.write_ollama_log import write_ollama_log

TESTS = Path(__file__).parents[2]


def dumped(counted: list[int], policy: Policy | None = None) -> Recording:
    events: list[tuple[float, int, Event]] = []
    for number, count in enumerate(counted, start=1):
        reading = BytesRead(phase="close", counted=count)
        # a log tells no more than this of a request's end
        reading.weights = reading.live = reading.snapshots = None  # pyright: ignore[reportAttributeAccessIssue]
        events += [(0.0, number, RequestBegan()), (0.0, number, reading), (0.0, number, RequestClosed())]
    return recording_of(events, policy, source="ollama-log")


@pytest.mark.parametrize(
    ("counted", "verdict"),
    [
        ([number * 800 * MIB for number in range(20)], "over_budget_by_design"),
        ([min(number, 10) * 800 * MIB for number in range(20)], "budget"),
        ([number * 300 * MIB for number in range(20)], "budget_filling"),
        ([GIB] * 20, "no_growth"),
    ],
)
def test_counted_bytes_under_the_budget(counted: list[int], verdict: str) -> None:
    found = kvlab.diagnose(dumped(counted, Policy())).about("budget_or_leak")
    assert (found.verdict, found.confidence) == (verdict, "medium")
    assert kvlab.diagnose(dumped(counted)).about("budget_or_leak").confidence == "low"


def test_of_two_arms_the_graver_counts() -> None:
    found = kvlab.diagnose(import_file(TESTS / "fixtures" / "samples" / "turn_pagedout_nodes.txt").recording).about("budget_or_leak")
    assert (found.verdict, found.numbers["arm"]) == ("over_budget_by_design", "before")
    assert "active path" in found.summary


@pytest.mark.parametrize("name", ["chat_50_turns_before", "chat_50_turns_after"])
def test_a_log_at_trace_gives_the_verdict_of_the_run_that_wrote_it(name: str, tmp_path: Path) -> None:
    workload = case(TESTS / "cases" / f"{name}.json")
    assert workload.shape is not None
    run = kvlab.twin(workload.shape).run(workload, progress=False)
    log = tmp_path / "server.log"
    write_ollama_log(run, log)
    found = kvlab.diagnose(import_file(log).recording).about("budget_or_leak")
    assert found.verdict == workload.expected["verdict"]
