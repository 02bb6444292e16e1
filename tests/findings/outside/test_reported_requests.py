"""Requests made again of their counts match as the counts say; series are cut at restarts; what is missing is named."""

from __future__ import annotations

import numpy as np
import pytest

from kvlab.events import Event, Matched, Observed, RequestBegan, RequestClosed, RunnerChanged
from kvlab.findings import budget_or_leak, facts
from kvlab.findings.compared_growth import compare
from kvlab.findings.simulated import MOST_REQUESTS, MOST_TOKENS, requests_of
from kvlab.lab.shapes import read_shape
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.facts import Counts, Series
from kvlab.recording.manifest import Manifest
from kvlab.recording.recorder import Recorder
from kvlab.workloads import Workload
from tests.findings.outside.seen import recording_of

COUNTS = (Counts(100, 0, 10), Counts(130, 105, 4), Counts(90, 60, 8), Counts(90, 90, 2), Counts(40, 0, 0), Counts(500, 131, 3))


def test_the_twin_of_reported_requests_matches_what_was_reported() -> None:
    twin = Twin(read_shape("qwen3-8b"))
    rows = twin.run(Workload("reported", tuple(requests_of(COUNTS))), progress=False).requests
    assert rows["tokens"].to_list() == [one.tokens for one in COUNTS]
    assert rows["matched"].to_list() == [one.matched for one in COUNTS]


def test_a_match_with_what_came_before_the_first_request_is_taken_as_new() -> None:
    requests = tuple(requests_of((Counts(1000, 900, 5), Counts(1100, 1000, 5))))
    assert len(requests[0].tokens) == 1000
    assert tuple(requests[1].tokens[:1000]) == tuple(requests[0].tokens)


def recorded(sizes: list[int], restart_after: int | None = None) -> Recording:
    recorder = Recorder(Manifest.now(model="m", source="ollama"))
    seq = 0
    for number, size in enumerate(sizes, start=1):
        events: list[Event] = [RequestBegan(tokens=10), RequestClosed(generated=1), Observed(gauge="size", observed=size, step=1)]
        if restart_after == number:
            events.append(RunnerChanged(state="unloaded"))
        for event in events:
            seq += 1
            event.seq, event.request = seq, number
            recorder.write(event)
    return recorder.close()


def test_a_series_is_cut_where_a_runner_ended_the_longest_part_first() -> None:
    parts = facts(recorded([1, 2, 3, 4, 5], restart_after=2)).series
    assert [part.observed.tolist() for part in parts] == [[3, 4, 5], [1, 2]]
    assert {part.gauge for part in parts} == {"size"}


def test_without_matches_or_with_few_figures_it_says_what_to_record() -> None:
    (seen,) = facts(recorded([1, 2, 3])).series
    shape = read_shape("qwen3-8b")
    assert compare(seen, shape, Policy()).verdict == "not_enough_data"
    assert "server's log" in compare(seen, shape, Policy()).summary
    few = Series(np.arange(1.0, 4), COUNTS[:3], np.array([1.0, 2.0, 3.0]), 1, "size")
    assert "3 requests" in compare(few, shape, Policy()).summary


def test_of_a_long_series_the_last_requests_are_judged() -> None:
    events: list[tuple[float, int, Event]] = []
    for number in range(1, MOST_REQUESTS + 101):
        matched = Matched(tokens=40, matched=0, cached=0, left=40)
        seen = (RequestBegan(tokens=40), matched, RequestClosed(generated=1), Observed(gauge="size", observed=10**9, step=1))
        events += [(0.0, number, event) for event in seen]
    found = budget_or_leak(facts(recording_of(events, shape=read_shape("smollm2").to_dict())))
    assert found.numbers["requests"] == MOST_REQUESTS
    assert found.evidence[0].rows[0]["request"] == 101


@pytest.mark.parametrize("tokens", [40_000, MOST_TOKENS, 10**12])
def test_prompts_beyond_a_shapes_context_or_any_sense_are_bounded(tokens: int) -> None:
    events: list[tuple[float, int, Event]] = []
    for number in range(1, 8):
        matched = Matched(tokens=tokens, matched=0, cached=0, left=tokens)
        seen = (RequestBegan(tokens=tokens), matched, RequestClosed(generated=1), Observed(gauge="size", observed=10**9, step=1))
        events += [(0.0, number, event) for event in seen]
    found = budget_or_leak(facts(recording_of(events, shape=read_shape("smollm2").to_dict())))
    assert found.question == "budget_or_leak"
    assert tokens < MOST_TOKENS or found.verdict == "not_enough_data"
