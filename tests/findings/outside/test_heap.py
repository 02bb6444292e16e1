"""A heap that grows while the listed size stays, as in the public report 18099; and what is not that."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.events import Event, Listed, Observed, RequestBegan, RequestClosed
from kvlab.findings import budget_or_leak, facts
from kvlab.findings.who_holds_it import who_holds_it
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.units import GIB, MIB
from tests.findings.outside.seen import recording_of

LISTED = round(7.43 * GIB)


def served(held: list[int], listed: list[int], contexts: list[int] | None = None) -> Recording:
    events: list[tuple[float, int, Event]] = []
    for place, (process, size) in enumerate(zip(held, listed, strict=True)):
        number = place + 1
        events += [(float(place), number, RequestBegan()), (float(place), number, RequestClosed()), (float(place), number, Listed(count=1, model="m"))]
        events.append((float(place), number, Observed(gauge="size", label="m", observed=size, step=1)))
        events.append((float(place), number, Observed(gauge="footprint", label="runner", observed=process, step=1, pid=42)))
        if contexts:
            events.append((float(place), number, Observed(gauge="asked_context", number=contexts[place])))
    return recording_of(events)


def test_a_process_that_grows_while_a_listed_size_that_stays() -> None:
    held = [8 * GIB + 200 * MIB * place for place in range(24)]
    recording = served(held, [LISTED] * 24, [8192] * 8 + [16384] * 8 + [32768] * 8)
    found = kvlab.diagnose(recording).about("budget_or_leak")
    assert (found.verdict, found.confidence) == ("heap_growth", "high")
    assert found.numbers["process_slope_bytes_per_request"] == 200 * MIB
    assert found.numbers["contexts_seen"] == [8192, 16384, 32768]
    assert found.numbers["context_has_effect"] == "no"
    assert who_holds_it(facts(recording)).verdict == "leak"


def test_growth_that_follows_the_context_is_less_sure() -> None:
    steps = [20 * MIB] * 8 + [80 * MIB] * 8
    held = [8 * GIB + sum(steps[:place]) for place in range(16)]
    found = budget_or_leak(facts(served(held, [LISTED] * 16, [8192] * 8 + [32768] * 8)))
    assert (found.verdict, found.confidence) == ("heap_growth", "low")


@pytest.mark.parametrize("rate", [0, 200 * MIB])
def test_a_listed_size_that_grows_along_is_no_heap(rate: int) -> None:
    listed = [LISTED + rate * place for place in range(12)]
    assert budget_or_leak(facts(served([size + GIB for size in listed], listed))).verdict != "heap_growth"


def test_a_table_with_both_columns(tmp_path: Path) -> None:
    rows = [f"{number}, {8.25 + number * 0.3:.2f} GB, 7.98 GB, {context}" for number, context in enumerate([8192] * 10 + [32768] * 10, start=1)]
    file = tmp_path / "series.csv"
    file.write_text("request, footprint, size, num_ctx\n" + "\n".join(rows) + "\n")
    assert kvlab.diagnose(import_file(file).recording).about("budget_or_leak").verdict == "heap_growth"


def test_a_watch_without_requests_is_judged_along_seconds() -> None:
    events: list[tuple[float, int, Event]] = []
    for place in range(20):
        events.append((6.0 * place, 0, Observed(gauge="size", label="m", observed=LISTED, step=1)))
        events.append((6.0 * place, 0, Observed(gauge="footprint", label="runner", observed=8 * GIB + 280 * MIB * place, step=1, pid=42)))
    found = budget_or_leak(facts(recording_of(events)))
    assert found.verdict == "heap_growth"
    assert found.numbers["process_growth_bytes"] == 19 * 280 * MIB
