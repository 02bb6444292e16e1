"""A footprint below the listed size: the processes are not charged with the model's arrays, so nothing is known of their heap."""

from __future__ import annotations

import kvlab
from kvlab.events import BytesRead, Event, Loaded, Observed, RequestBegan, RequestClosed
from kvlab.findings import facts
from kvlab.findings.who_holds_it import who_holds_it
from kvlab.units import GIB, MIB
from tests.findings.outside.seen import recording_of


def of(size: int, footprint: int) -> kvlab.Recording:
    figures = (Observed(gauge="size", observed=size, unit="B", step=1), Observed(gauge="footprint", observed=footprint, unit="B", step=1))
    return recording_of([(0.0, 1, event) for event in (RequestBegan(), *figures, RequestClosed())])


def test_no_heap_below_nothing() -> None:
    recording = of(20 * GIB, 48 * MIB)
    assert "heap" not in facts(recording).parts.bytes
    found = who_holds_it(facts(recording))
    assert found.verdict == "not_enough_data"
    assert "heap" not in found.summary.partition("The footprint")[0]
    assert f"The footprint is {(20 * GIB - 48 * MIB) / GIB:.2f} GiB less than the model takes" in found.summary


def test_a_heap_above_it() -> None:
    found = who_holds_it(facts(of(20 * GIB, 22 * GIB)))
    assert found.verdict == "adds_up"
    assert found.numbers["heap_bytes"] == 2 * GIB


def test_what_others_hold_in_the_same_process_is_no_heap() -> None:
    read = BytesRead(phase="close", weights=4 * GIB, live=0, counted=0, snapshots=0, active=4 * GIB, pool=GIB)
    events: tuple[Event, ...] = (
        Loaded(weights=4 * GIB, outside=3 * GIB),
        RequestBegan(),
        read,
        Observed(gauge="footprint", observed=10 * GIB),
        RequestClosed(),
    )
    assert facts(recording_of((0.0, 1, event) for event in events)).parts.bytes["heap"] == (10 - 4 - 1 - 3) * GIB
