"""SIZE series of coarse prints, with restarts and unloads: what is claimed is contradicted by no figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import kvlab
from kvlab.events import Event, Matched, Observed, RequestBegan, RequestClosed
from kvlab.findings import budget_or_leak, facts
from kvlab.findings.compared_growth import compare
from kvlab.findings.figures_growth import plateau_since
from kvlab.findings.finding import Finding
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.facts import Counts, Series
from kvlab.recording.facts.lifetimes import begins_anew, with_no_match_near
from kvlab.recording.reported import reported_bytes
from kvlab.units import GB, GIB, MIB
from kvlab.workloads import resolve
from tests.findings.outside.seen import recording_of, sizes

SHAPE = read_shape("qwen3.8-27b").to_dict()
LOADED = 19_200_000_000


def whole_gb(values: Sequence[float]) -> Recording:
    return sizes([(number, value // GB * GB) for number, value in enumerate(values, start=1)], step=GB, shape=SHAPE)


def plateau_named(found: Finding) -> None:
    """A predicted plateau lies at or above the last figure."""
    plateau, last = found.numbers.get("predicted_plateau_bytes"), found.numbers.get("last_bytes")
    if found.verdict == "budget_filling" and isinstance(plateau, int) and isinstance(last, int):
        assert plateau >= last


def test_growth_then_a_restart_is_not_no_growth() -> None:
    found = budget_or_leak(facts(whole_gb([LOADED + 300e6 * number for number in range(55)] + [LOADED + 100e6 * number for number in range(5)])))
    assert found.verdict == "not_enough_data"
    assert found.numbers["last_bytes"] == 35 * GB
    assert found.numbers["fell_after_request"] == 55
    assert "restart" in found.summary


@pytest.mark.parametrize("step", [1, GB // 2])
def test_a_restart_within_a_series_that_goes_past_the_budget(step: int) -> None:
    grown = [20e9 + 500e6 * number for number in range(20)] + [20e9 + 500e6 * number for number in range(41)]
    found = budget_or_leak(facts(sizes([(number, value // step * step) for number, value in enumerate(grown, start=1)], step=step, shape=SHAPE)))
    assert found.verdict == "not_enough_data"
    assert found.numbers["growth_bytes"] == 20 * GB
    assert found.numbers["lifetimes"] == 2
    assert "request 21 to 61" in found.summary
    assert found.numbers["predicted_plateau_bytes"] is None


@pytest.mark.parametrize("rate", range(20, 560, 30))
@pytest.mark.parametrize("full_before", [False, True])
def test_a_leak_in_whole_gb_is_never_a_plateau(rate: int, *, full_before: bool) -> None:
    expected = [0.0 if full_before else min(150e6 * number, 8 * GIB) for number in range(60)]
    found = budget_or_leak(facts(whole_gb([LOADED + expected[number] + rate * 1e6 * number for number in range(60)])))
    assert found.verdict not in ("budget", "no_growth")
    plateau_named(found)


@pytest.mark.parametrize("rate", [100, 150, 300])
def test_growth_in_whole_gb_that_stops_is_still_a_budget(rate: int) -> None:
    found = budget_or_leak(facts(whole_gb([LOADED + min(rate * 1e6 * number, 8 * GIB) for number in range(round(3 * 8 * GIB / (rate * 1e6)))])))
    assert found.verdict == "budget"


def test_one_step_of_a_coarse_print_decides_nothing() -> None:
    assert budget_or_leak(facts(whole_gb([LOADED] * 30 + [LOADED + GB] * 30))).verdict == "not_enough_data"
    found = budget_or_leak(facts(whole_gb([LOADED] * 30)))
    # a step of 1 GB hides up to 1 GB of growth
    assert (found.verdict, found.confidence) == ("no_growth", "low")


def test_where_a_life_begins() -> None:
    assert begins_anew(np.array([19.0, 25, 35, 19, 20, 22]) * GB, GB) == [3]
    # what eviction takes is a part of what has grown, and noise is none
    assert begins_anew(np.array([19.0, 27, 25, 27, 25]) * GB, GB) == []
    assert begins_anew(np.array([19.0, 20, 19, 20, 19]) * GB, GB) == []


def test_a_fall_after_which_something_matched_is_no_new_life() -> None:
    matched = np.array([0.0, 50, 60, 0, 50, 60, 70])
    # at its own request, or at the one before when the figure is late
    assert with_no_match_near([3, 4, 5, 6], matched) == [3, 4]


def test_figures_of_one_level_that_rise_steadily_are_no_plateau() -> None:
    grown = np.arange(10.0) * 500 * MIB
    x = np.arange(30.0)
    # 80 MiB in 20 requests, which is within what figures of one level differ by
    assert plateau_since(x, np.concatenate([grown, grown[-1] + 4 * MIB * np.arange(1.0, 21)]), 1) == 29
    assert plateau_since(x, np.concatenate([grown, grown[-1] + 4 * MIB * (np.arange(1.0, 21) % 2)]), 1) < 20


def in_whole_gb(leak: float, unload_after: int) -> Recording:
    """Return a table of total, matched, cached and SIZE: a leak on top of what the rules hold, the model unloaded once."""
    events: list[tuple[float, int, Event]] = []
    for first, last in ((0, unload_after), (unload_after, 60)):
        run = kvlab.twin("qwen3.8-27b").run(resolve(f"unrelated:{last - first}"), progress=False)
        held = reported_bytes(run)
        for number, tokens, matched, cached, generated in run.requests.select("request", "tokens", "matched", "cached", "generated").iter_rows():
            shown = round(held[number] + leak * number) // GB * GB
            at = first + number
            counts = Matched(tokens=tokens, matched=matched, cached=cached, left=tokens - cached)
            seen = (RequestBegan(tokens=tokens), counts, RequestClosed(generated=generated), Observed(gauge="size", observed=shown, step=GB))
            events += [(0.0, at, event) for event in seen]
    return recording_of(events, shape=SHAPE)


@pytest.mark.parametrize("leak", [60e6, 150e6, 400e6])
@pytest.mark.parametrize("unload_after", [20, 30, 45])
def test_a_leak_in_whole_gb_with_matches_is_called_expected_only_below_the_stated_limit(leak: float, unload_after: int) -> None:
    found = budget_or_leak(facts(in_whole_gb(leak, unload_after)))
    if found.verdict not in ("leak", "not_enough_data"):
        limit = found.numbers["largest_leak_bytes_per_request"]
        assert isinstance(limit, int)
        assert leak <= limit
        assert found.confidence == "low"
        assert "would not show" in found.summary


@pytest.mark.parametrize("unload_after", [20, 30])
def test_no_leak_in_whole_gb_with_matches_is_not_called_one(unload_after: int) -> None:
    assert budget_or_leak(facts(in_whole_gb(0, unload_after))).verdict != "leak"


def test_what_is_called_observed_was_observed() -> None:
    run = kvlab.twin("qwen3.8-27b").run(resolve("unrelated:80"), progress=False)
    held = np.array([count for _, count in sorted(reported_bytes(run).items())], dtype=np.float64) + 300 * MIB
    reported = tuple(Counts(*row) for row in run.requests.select("tokens", "matched", "generated").iter_rows())
    found = compare(Series(np.arange(1.0, 81), reported, held, 1, "size"), read_shape("qwen3.8-27b"), Policy())
    assert found.verdict == "budget"
    assert found.numbers["observed_plateau_bytes"] == held.max()
    assert "observed: " not in found.summary
