"""A footprint that is not charged with the model's arrays decides nothing about them."""

from __future__ import annotations

import pytest

from kvlab.events import Event, Matched, Observed, RequestBegan, RequestClosed
from kvlab.findings import budget_or_leak, facts
from kvlab.lab.shapes import read_shape
from kvlab.recording import Recording
from kvlab.units import GB, GIB, MIB
from tests.findings.outside.seen import recording_of

FEW, MANY = 3, 24


def probed(held: int, gauge: str = "footprint", *, sizes: int = FEW, matches: bool = False) -> Recording:
    """Return a probe's look after each of many requests, at the process; the server's list is read at the last few of them, and grows."""
    events: list[tuple[float, int, Event]] = []
    for number in range(1, MANY + 1):
        seen: list[Event] = [RequestBegan(tokens=100)]
        if matches:
            seen.append(Matched(tokens=100, matched=0, cached=0, left=100))
        seen += [RequestClosed(generated=4), Observed(gauge=gauge, label="runner", observed=held, step=1, pid=42)]
        if number > MANY - sizes:
            seen.append(Observed(gauge="size", label="m", observed=round(16.8 * GB) + number * 40 * MIB, step=1))
        events += [(float(number), number, event) for event in seen]
    return recording_of(events, source="probe", shape=read_shape("qwen3.8-27b").to_dict())


@pytest.mark.parametrize("gauge", ["footprint", "rss", "anonymous"])
@pytest.mark.parametrize("matches", [False, True])
def test_below_the_list_it_is_left_out(gauge: str, *, matches: bool) -> None:
    recording = probed(54 * MIB, gauge, matches=matches)
    assert {part.gauge for part in facts(recording).series} == {"size"}
    found = budget_or_leak(facts(recording))
    assert found.verdict == "not_enough_data"
    assert found.numbers.get("gauge", "size") == "size"


def test_the_list_decides_where_it_was_read_often_enough() -> None:
    found = budget_or_leak(facts(probed(54 * MIB, sizes=20)))
    assert (found.verdict, found.numbers["gauge"]) == ("budget_filling", "size")


def test_a_footprint_that_has_the_arrays_still_counts() -> None:
    assert {part.gauge for part in facts(probed(20 * GIB)).series} == {"footprint"}


def test_alone_it_is_all_there_is() -> None:
    assert {part.gauge for part in facts(probed(20 * GIB, sizes=0)).series} == {"footprint"}
