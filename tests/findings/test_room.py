"""Will it fit, and which budget: what the rules may still take, and what the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.events import BytesRead, Event, Evicted, Listed, Matched, Observed, RequestBegan, RequestClosed, Warned
from kvlab.findings import facts
from kvlab.findings.which_budget import which_budget
from kvlab.findings.will_it_fit import will_it_fit
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.units import GB, GIB
from tests.findings.outside.seen import recording_of

SAMPLES = Path(__file__).parents[1] / "fixtures" / "samples"
CONTEXT = 8192


def server(*, size: int, available: int, model: str = "m", total: int | None = None, swap: list[int] | None = None) -> Recording:
    events: list[Event] = [
        Listed(count=1, model=model, context=CONTEXT),
        Observed(gauge="size", label=model, observed=size, step=1),
        Observed(gauge="available", observed=available, step=1),
    ]
    if total is not None:
        events.append(Observed(gauge="system_total", observed=total, step=1))
    events += [Observed(gauge="swap_used", observed=count, step=1) for count in swap or []]
    return recording_of(((float(place), 0, event) for place, event in enumerate(events)), model=model)


def test_less_available_than_the_budget_has_left_does_not_fit() -> None:
    found = will_it_fit(facts(server(size=18 * GIB, available=7 * GIB)))
    assert found.verdict == "does_not_fit"
    assert found.numbers["budget_left_bytes"] == 8 * GIB


def test_without_a_shape_a_peak_forecast_is_needed() -> None:
    found = will_it_fit(facts(server(size=18 * GIB, available=20 * GIB)))
    assert found.verdict == "needs_peak_forecast"
    assert "--shape" in found.summary


def test_with_a_shape_live_buffers_and_transients_are_counted() -> None:
    model = "qwen3.8:27b-mlx"
    found = will_it_fit(facts(server(size=18 * GIB, available=20 * GIB, model=model)))
    assert found.verdict == "fits"
    shape = kvlab.twin("qwen3.8-27b").shape
    assert found.numbers["live_buffers_left_bytes"] == CONTEXT * shape.bytes_per_token
    budget, live = found.numbers["budget_left_bytes"], found.numbers["live_buffers_left_bytes"]
    assert isinstance(budget, int)
    assert isinstance(live, int)
    assert will_it_fit(facts(server(size=18 * GIB, available=budget + live, model=model))).verdict == "needs_peak_forecast"
    assert will_it_fit(facts(server(size=18 * GIB, available=budget + live - 1, model=model))).verdict == "does_not_fit"


@pytest.mark.parametrize("context", [10**12, -5])
def test_a_context_that_cannot_be_is_not_believed(context: int) -> None:
    events: list[Event] = [
        Listed(count=1, model="qwen3.8:27b-mlx", context=context),
        Observed(gauge="size", observed=18 * GIB, step=1),
        Observed(gauge="available", observed=20 * GIB, step=1),
    ]
    found = will_it_fit(facts(recording_of(((0.0, 0, event) for event in events), model="qwen3.8:27b-mlx")))
    assert found.numbers["context_tokens"] == kvlab.twin("qwen3.8-27b").shape.context


def test_a_load_that_the_server_refused_does_not_fit() -> None:
    words = "error loading: model requires 21.0 GiB but only 14.0 GiB are available (after 512.0 MiB overhead)"
    found = will_it_fit(facts(recording_of([(0.0, 0, Warned(message=words))])))
    assert (found.verdict, found.numbers["needs_bytes"], found.numbers["available_bytes"]) == ("does_not_fit", 21 * GIB, 14 * GIB)


def test_a_machine_that_swaps_has_nothing_left() -> None:
    assert will_it_fit(facts(server(size=18 * GIB, available=9 * GIB, swap=[0, 10 * GIB]))).verdict == "does_not_fit"


def test_the_system_alone_tells_nothing_of_a_model() -> None:
    recording = import_file(SAMPLES / "system_trace.log").recording
    assert will_it_fit(facts(recording)).verdict == which_budget(facts(recording)).verdict == "not_enough_data"


def test_a_full_budget_that_passes_the_machine() -> None:
    found = which_budget(facts(server(size=24 * GIB, available=12 * GIB, total=32 * GIB)))
    assert found.verdict == "budget_larger_than_machine"
    assert found.numbers["largest_budget_bytes"] == 8 * GIB
    assert which_budget(facts(server(size=18 * GIB, available=28 * GIB, total=64 * GIB))).verdict == "budget_filling"


def test_swap_that_grows_while_the_budget_fills() -> None:
    assert which_budget(facts(server(size=18 * GIB, available=9 * GIB, swap=[0, 2 * GB]))).verdict == "budget_larger_than_machine"


@pytest.mark.parametrize(("cached", "verdict"), [(400, "thrash"), (600, "budget_filling")])
def test_eviction_of_what_is_requested_again(cached: int, verdict: str) -> None:
    events: list[tuple[float, int, Event]] = []
    for number, (restored, reason) in enumerate([(0, "nothing_shared"), (cached, "reused_in_full"), (0, "evicted")], start=1):
        left = 500 if reason == "evicted" else 1000 - restored
        matched = Matched(tokens=restored + left, matched=restored, cached=restored, left=left, reason=reason)
        reading = BytesRead(phase="close", counted=GIB)
        events += [(0.0, number, event) for event in (RequestBegan(), matched, Evicted(), reading, RequestClosed())]
    found = which_budget(facts(recording_of(events)))
    assert (found.numbers["lost_to_eviction_tokens_at_most"], found.numbers["cached_tokens"]) == (500, cached)
    assert found.verdict == verdict
