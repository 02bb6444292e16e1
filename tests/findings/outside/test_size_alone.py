"""Figures by request without the requests' matches: only the height and the end of growth can be judged, and never surely."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.events import Event, Listed, Observed, RequestBegan, RequestClosed
from kvlab.findings import budget_or_leak, facts
from kvlab.importers import import_file
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.units import GB, GIB, MIB
from tests.findings.outside.seen import recording_of, sizes

BUDGET = 8 * GIB
SAMPLES = Path(__file__).parents[2] / "fixtures" / "samples"


def filling(rate: float, requests: int, most: float = BUDGET) -> list[tuple[int, float]]:
    return [(number, 18 * GIB + min(rate * number, most)) for number in range(requests)]


@pytest.mark.parametrize("name", ["request_size_simple.csv", "request_size_table.txt"])
def test_a_table_that_stops_a_budget_above_its_start_is_the_budget(name: str) -> None:
    found = kvlab.diagnose(import_file(SAMPLES / name).recording).about("budget_or_leak")
    assert found.verdict == "budget"
    assert found.confidence == "medium"
    assert found.numbers["plateau_since_request"] == 28


@pytest.mark.parametrize("step", [1, GIB // 10, GB])
@pytest.mark.parametrize("rate", [150 * MIB, 500 * MIB])
def test_growth_that_stops_at_the_budget(rate: float, step: int) -> None:
    shown = [(number, value // step * step) for number, value in filling(rate, 2 * round(BUDGET / rate) + 2)]
    assert budget_or_leak(facts(sizes(shown, step=step))).verdict == "budget"


def test_growth_that_a_budget_still_explains_is_filling_with_low_confidence() -> None:
    found = budget_or_leak(facts(sizes(filling(150 * MIB, 20))))
    assert (found.verdict, found.confidence) == ("budget_filling", "low")
    assert found.numbers["requests_until_full"] == (BUDGET - 19 * 150 * MIB) // (150 * MIB) + 1
    assert "leak of the same rate looks the same" in found.summary


def test_no_growth_and_growth_that_stops_elsewhere() -> None:
    assert budget_or_leak(facts(sizes((number, 18 * GIB) for number in range(12)))).verdict == "no_growth"
    assert budget_or_leak(facts(sizes(filling(200 * MIB, 40, most=2 * GIB)))).verdict == "no_growth"


def test_past_the_budget_without_rules_is_not_decided() -> None:
    found = budget_or_leak(facts(sizes((number, 18 * GIB + number * GIB) for number in range(30))))
    assert found.verdict == "not_enough_data"
    assert found.numbers["past_budget_bytes"] == 21 * GIB
    assert "exempt the active path" in found.summary


@pytest.mark.parametrize(("policy", "verdict"), [(Policy(), "leak"), (Policy(protect="active_path"), "not_enough_data")])
def test_past_the_budget_under_rules_that_let_nothing_pass_is_a_leak(policy: Policy, verdict: str) -> None:
    shape = read_shape("qwen3.8-27b")
    growing = [(number, 18 * GIB + number * GIB) for number in range(80)]
    assert budget_or_leak(facts(sizes(growing, policy=policy, shape=shape.to_dict()))).verdict == verdict


def test_two_figures_are_no_trend() -> None:
    found = budget_or_leak(facts(sizes([(1, 18 * GB), (10, 19 * GB)], step=GB)))
    assert found.verdict == "not_enough_data"
    assert "18.0 GB, 19.0 GB" in found.summary


def two_models(sizes_of: dict[str, list[int]]) -> list[tuple[float, int, Event]]:
    events: list[tuple[float, int, Event]] = []
    for place in range(len(next(iter(sizes_of.values())))):
        number = place + 1
        events += [(float(place), number, RequestBegan()), (float(place), number, RequestClosed())]
        for model, reported in sizes_of.items():
            events.append((float(place), number, Listed(count=len(sizes_of), model=model)))
            events.append((float(place), number, Observed(gauge="size", label=model, observed=reported[place], step=1)))
    return events


def test_of_two_models_one_is_followed() -> None:
    growing, still = [10 * GIB + 300 * MIB * place for place in range(12)], [3 * GIB] * 12
    (part,) = facts(recording_of(two_models({"a": growing, "b": still}))).series
    assert part.observed.tolist() == growing


def test_an_unload_between_requests_cuts_the_series() -> None:
    events = two_models({"a": [5, 6, 7, 5, 6]})
    place = next(index for index, (_, request, _) in enumerate(events) if request == 4)
    events.insert(place, (3.0, 0, Listed(count=0)))
    assert [part.observed.tolist() for part in facts(recording_of(events)).series] == [[5, 6, 7], [5, 6]]
