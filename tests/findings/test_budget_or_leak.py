from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab import workloads
from kvlab.findings import budget_or_leak, facts
from kvlab.findings.counted_growth import MOST_SHOWN, until_full
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import GIB, MIB

Make = Callable[..., Recording]
Rows = Callable[..., list[dict[str, Any]]]


def sawtooth(requests: int, branch: int, budget: int) -> list[int]:
    """Counted bytes of unrelated requests: each adds a branch, the first one late; the oldest goes when none fits."""
    return [min(place, budget // branch) * branch for place in range(requests)]


def test_growth_that_stops_at_the_budget_is_budget(recording: Make, rows_by_the_rules: Rows) -> None:
    rows = rows_by_the_rules(sawtooth(15, 11_000, 100_000))
    for row in rows[10:]:
        row["evicts"] = 1
    finding = budget_or_leak(facts(recording(rows)))
    assert finding.verdict == "budget"
    # the first request that has to evict
    assert finding.numbers["plateau_reached_at_request"] == 11
    assert "full at request 11" in finding.summary
    assert finding.numbers["growth_bytes_per_request"] == 11_000
    assert finding.numbers["budget_bytes"] == 100_000
    assert finding.numbers["predicted_plateau_bytes"] == 1_000_000 + 5_000 + 100_000
    assert finding.numbers["observed_plateau_bytes"] == 1_000_000 + 5_000 + 99_000
    assert finding.numbers["twin_plateau_bytes"] == finding.numbers["observed_plateau_bytes"]
    assert finding.numbers["unexplained_slope_bytes_per_request"] == 0
    assert finding.confidence == "high"
    assert {row["request"] for row in finding.evidence[0].rows} == {1, 2, 10, 11, 14, 15}


def test_without_events_of_eviction_a_full_budget_is_one_the_usual_branch_does_not_fit(recording: Make, rows_by_the_rules: Rows) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules([0, 44, 88, 132, 176, 176, 176, 176]), budget=200)))
    assert finding.verdict == "budget"
    assert finding.numbers["plateau_reached_at_request"] == 6


def test_a_level_that_saws_below_a_full_budget_is_still_the_budget(recording: Make, rows_by_the_rules: Rows) -> None:
    counted = [0, 30_000, 55_000, 90_000, 62_000, 97_000, 71_000, 99_000, 66_000, 80_000]
    rows = rows_by_the_rules(counted)
    for row in rows[4:]:
        row["evicts"] = 2
    finding = budget_or_leak(facts(recording(rows)))
    assert finding.verdict == "budget"
    assert finding.numbers["plateau_reached_at_request"] == 5
    # from there on the highest and the lowest close, not a middle that no request had
    assert finding.numbers["observed_plateau_bytes"] == 1_000_000 + 5_000 + 99_000
    assert finding.numbers["observed_plateau_low_bytes"] == 1_000_000 + 5_000 + 62_000


def test_growth_below_the_budget_is_filling_with_a_forecast(recording: Make, rows_by_the_rules: Rows) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules([0, 10_000, 20_000, 30_000, 40_000, 50_000]))))
    assert finding.verdict == "budget_filling"
    # after five more exactly 100,000 bytes are counted; the sixth does not fit any more
    assert finding.numbers["requests_until_full"] == 6
    assert "at about request 12, 6 such requests from now" in finding.summary
    assert finding.numbers["plateau_reached_at_request"] is None
    assert finding.numbers["predicted_plateau_bytes"] == 1_105_000


def test_a_budget_that_the_last_request_filled_has_no_plateau_yet(recording: Make, rows_by_the_rules: Rows) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules([0, 30_000, 60_000, 90_000]))))
    assert finding.verdict == "budget_filling"
    assert finding.numbers["requests_until_full"] == 1
    assert "at about request 5, 1 such request from now" in finding.summary


def test_a_forecast_beyond_all_use_is_no_number() -> None:
    assert "request 1,000,003, 1,000,000 such requests" in until_full(MOST_SHOWN, 3)
    assert until_full(MOST_SHOWN + 1, 3) == "It is not full within 1,000,000 more such requests. "
    assert until_full(None, 3) == ""


def test_a_live_buffer_that_grows_in_a_step_and_then_stays_is_no_growth(recording: Make) -> None:
    rows = [{"counted": 0, "predicted": 0, "live": live, "predicted_live": live} for live in (5_000, 5_000, 40_000, 40_000, 40_000, 40_000)]
    finding = budget_or_leak(facts(recording(rows)))
    assert finding.verdict == "no_growth"
    assert finding.numbers["live_growth_bytes"] == 35_000
    assert "longest request" in finding.summary


def test_growth_that_ended_early_is_no_growth(recording: Make, rows_by_the_rules: Rows) -> None:
    assert budget_or_leak(facts(recording(rows_by_the_rules([0, 9_000, 9_000, 9_000, 9_000, 9_000])))).verdict == "no_growth"
    assert budget_or_leak(facts(recording(rows_by_the_rules([0, 9_000, 9_000])))).verdict == "no_growth"


def test_growth_past_the_budget_that_is_counted_is_by_design(recording: Make, rows_by_the_rules: Rows) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules([20_000 * place for place in range(1, 15)]))))
    assert finding.verdict == "over_budget_by_design"
    assert finding.numbers["over_budget_bytes"] == 180_000


@pytest.mark.parametrize("field", ["snapshots", "unattributed", "live"])
def test_growth_that_no_rule_explains_is_a_leak_whoever_holds_it(recording: Make, field: str) -> None:
    counted = sawtooth(15, 11_000, 100_000)
    rows: list[dict[str, Any]] = [{"counted": value, "predicted": value, "predicted_live": 5_000} for value in counted]
    base = {"snapshots": 0, "unattributed": 0, "live": 5_000}[field]
    for place, row in enumerate(rows):
        row[field] = base + 50_000 * place + (row["counted"] if field == "snapshots" else 0)
    finding = budget_or_leak(facts(recording(rows, origin={"device": "cpu"})))
    assert finding.verdict == "leak"
    if field == "snapshots":
        assert finding.numbers["unexplained_bytes"] == 700_000
        assert finding.numbers["unexplained_beyond_rounding_bytes"] == 700_000 - 9_900
        # the sentence names all three: 700,000 B, 9,900 B of it for rounding, 690,100 B beyond
        assert "grow to 683.59 KiB after 15 requests; up to 9.67 KiB of them" in finding.summary
        assert "the other 673.93 KiB grow" in finding.summary
        return
    assert "to 683.59 KiB after 15 requests" in finding.summary
    assert finding.numbers["unexplained_slope_bytes_per_request"] == 50_000
    assert finding.numbers["unexplained_bytes"] == 700_000


def test_a_leak_that_begins_late_is_found_in_the_later_half(recording: Make, rows_by_the_rules: Rows) -> None:
    rows = rows_by_the_rules([9_000] * 40)
    for place, row in enumerate(rows):
        row["unattributed"] = max(0, place - 28) * 60_000
    assert budget_or_leak(facts(recording(rows))).verdict == "leak"


def test_a_leak_of_a_burst_every_fifth_request_is_a_leak(recording: Make, rows_by_the_rules: Rows) -> None:
    rows = rows_by_the_rules([9_000] * 40)
    for place, row in enumerate(rows):
        row["unattributed"] = place // 5 * 100_000
    assert budget_or_leak(facts(recording(rows))).verdict == "leak"


def test_noise_and_a_warm_up_are_no_leak(recording: Make, rows_by_the_rules: Rows) -> None:
    rows = rows_by_the_rules([2_000_000 * place for place in range(20)])
    for place, row in enumerate(rows):
        row["unattributed"] = (300_000 if place else 0) + (place * 7919) % 4096
    assert budget_or_leak(facts(recording(rows, budget=10**9))).verdict == "budget_filling"


@pytest.mark.parametrize(
    ("device", "share", "verdict"), [("cpu", 0.08, "budget_filling"), ("cpu", 0.5, "leak"), ("gpu", 0.9, "budget_filling"), ("gpu", 3.0, "leak")]
)
def test_what_an_allocator_rounds_up_is_no_leak_and_what_it_cannot_is(
    recording: Make, rows_by_the_rules: Rows, device: str, share: float, verdict: str
) -> None:
    rows = rows_by_the_rules([2_000_000 * place for place in range(20)])
    for row in rows:
        row["snapshots"] = round(row["counted"] * (1 + share))
    finding = budget_or_leak(facts(recording(rows, budget=10**9, origin={"device": device})))
    assert finding.verdict == verdict
    assert finding.numbers["unexplained_bytes"] == round(38_000_000 * share)


def test_the_twin_knows_a_leak_of_a_single_byte(recording: Make) -> None:
    rows = [{"counted": 0, "snapshots": place, "live": 10} for place in range(6)]
    assert budget_or_leak(facts(recording(rows, source="twin"))).verdict == "leak"
    rows = [{"counted": place, "live": 10} for place in range(6)]
    assert budget_or_leak(facts(recording(rows, source="twin"))).verdict == "budget_filling"


def test_without_a_twin_of_it_the_answer_says_so_and_is_less_sure(recording: Make) -> None:
    finding = budget_or_leak(facts(recording([{"counted": 1_000 * place} for place in range(12)])))
    assert finding.confidence == "low"
    assert finding.numbers["unexplained_slope_bytes_per_request"] is None
    assert "twin" in finding.summary


def test_three_requests_have_a_slope(recording: Make, rows_by_the_rules: Rows) -> None:
    rows = rows_by_the_rules([0, 10_000, 20_000])
    assert budget_or_leak(facts(recording(rows))).verdict == "budget_filling"
    for place, row in enumerate(rows):
        row["unattributed"] = 50_000 * place
    finding = budget_or_leak(facts(recording(rows)))
    assert finding.verdict == "leak"
    assert finding.numbers["unexplained_slope_bytes_per_request"] == 50_000
    assert finding.confidence == "low"


def test_two_requests_are_not_enough(recording: Make, rows_by_the_rules: Rows) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules([0, 1]))))
    assert finding.verdict == "not_enough_data"
    assert "at least 3" in finding.summary


@pytest.mark.parametrize("counted", [[0, 9, 9, 9], [0, 44, 88, 132, 176, 176, 176], [0, 10, 20, 30], [90, 180, 270, 360]])
def test_every_summary_names_units_and_every_number_has_one(recording: Make, rows_by_the_rules: Rows, counted: list[int]) -> None:
    finding = budget_or_leak(facts(recording(rows_by_the_rules(counted), budget=200)))
    assert any(unit in finding.summary for unit in (" B", " KiB", " MiB"))
    for name in finding.numbers:
        assert "bytes" in name or "request" in name
    assert finding.refuted_by


@pytest.mark.parametrize(
    ("requests", "budget", "verdict", "full"),
    [(30, 8 * GIB, "no_growth", 11), (8, 8 * GIB, "budget_filling", None), (30, 4 * MIB, "budget", None)],
)
def test_a_limit_of_entries_fills_no_budget(requests: int, budget: int, verdict: str, full: int | None) -> None:
    policy = Policy(store="whole_entry_lru", store_entries=10, budget_bytes=budget)
    found = budget_or_leak(facts(kvlab.twin("smollm2").run(f"unrelated:{requests}", policy, progress=False)))
    assert found.verdict == verdict
    assert found.numbers["entries_full_at_request"] == full
    assert ("At most 10 entries are kept" in found.summary) == (verdict != "budget")
    # a forecast that ten entries never reach is not given
    assert found.numbers["requests_until_full"] is None


def test_ten_entries_that_get_larger_still_grow() -> None:
    made = kvlab.twin("qwen3.8-27b").run("chat:40", Policy(store="whole_entry_lru", store_entries=10), progress=False)
    found = budget_or_leak(facts(made))
    assert (found.verdict, found.numbers["entries_full_at_request"]) == ("budget_filling", 11)
    assert "they get larger" in found.summary


@pytest.mark.parametrize(
    ("shape", "workload", "budget"),
    [("qwen3.8-27b", "A2", 8 * GIB), ("qwen3.6-35b-a3b", "ladder:1024..131072", 3 * GIB), ("tiny-hybrid", "unrelated:40", MIB)],
)
def test_the_request_that_is_named_is_the_first_one_that_evicts(shape: str, workload: str, budget: int) -> None:
    twin = kvlab.twin(shape)
    made = twin.run(workloads.resolve(workload), twin.policy.replace(budget_bytes=budget), progress=False)
    first = made.events.filter(kind="evicted")["request"][0]
    finding = kvlab.diagnose(made).about("budget_or_leak")
    assert finding.numbers["plateau_reached_at_request"] == first
    assert f"full at request {first}." in finding.summary
    close = made.requests.filter(pl.col("request") >= first)["retained"]
    assert (finding.numbers["observed_plateau_low_bytes"], finding.numbers["observed_plateau_bytes"]) == (close.min(), close.max())
