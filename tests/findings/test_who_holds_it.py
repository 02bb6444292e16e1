"""Who holds it: pinned and unattributed bytes inside, heap and pool outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kvlab
from kvlab.findings import facts
from kvlab.findings.who_holds_it import who_holds_it
from kvlab.importers import import_file
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import GIB, MIB
from kvlab.workloads import case

Make = Callable[..., Recording]
TESTS = Path(__file__).parents[1]


def test_what_snapshots_pin_beyond_their_count_is_a_leak(recording: Make) -> None:
    found = who_holds_it(facts(recording([{"counted": 1000 * place, "snapshots": 50_000 * place} for place in range(12)])))
    assert found.verdict == "leak"
    assert found.numbers["pinned_bytes"] == 11 * 49_000
    # an unknown device may round what is counted up to twice its size: 11,000 of the 539,000 bytes
    assert "Pinned bytes grow to 526.37 KiB after 12 requests; up to 10.74 KiB of them" in found.summary
    assert "the other 515.62 KiB grow by 46.88 KiB per request" in found.summary


def test_what_no_owner_names_is_a_leak(recording: Make) -> None:
    found = who_holds_it(facts(recording([{"unattributed": 8_000 * place} for place in range(12)])))
    assert found.verdict == "leak"
    assert found.numbers["unattributed_slope_bytes_per_request"] == 8_000


def test_growth_by_the_rules_adds_up(recording: Make) -> None:
    found = who_holds_it(facts(recording([{"counted": 9_000 * place} for place in range(12)])))
    assert (found.verdict, found.confidence) == ("adds_up", "high")


def test_the_pinned_ladder_and_its_control() -> None:
    workload = case(TESTS / "cases" / "growing_cold_ladder_pinned.json")
    assert workload.shape is not None
    policy = Policy.from_dict(workload.policy)
    found = kvlab.diagnose(Twin(workload.shape, policy).run(workload, policy, progress=False)).about("who_holds_it")
    assert found.verdict == workload.expected["verdict"]
    control = policy.replace(capture_as="compact")
    assert who_holds_it(facts(Twin(workload.shape, control).run(workload, control, progress=False))).numbers["pinned_bytes"] == 0


def test_a_footprint_is_split_into_arrays_heap_and_files() -> None:
    found = who_holds_it(facts(import_file(TESTS / "fixtures" / "samples" / "footprint.txt").recording))
    assert found.verdict == "adds_up"
    # as the tool prints them: 23 GB of footprint, 22 GB of IOAccelerator, 274 MB of MALLOC, 1100 MB of clean mapped files; its GB are GiB
    assert [found.numbers[f"{name}_bytes"] for name in ("footprint", "gpu", "heap", "mapped")] == [23 * GIB, 22 * GIB, 274 * MIB, 1100 * MIB]


@pytest.mark.parametrize("name", ["ps_trace.tsv", "peak_by_prompt.log"])
def test_one_figure_is_not_enough(name: str) -> None:
    assert who_holds_it(facts(import_file(TESTS / "fixtures" / "samples" / name).recording)).verdict == "not_enough_data"
