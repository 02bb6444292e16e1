"""The tables of events, requests and bytes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.events import (
    COLUMNS,
    BytesRead,
    ChunkRan,
    Event,
    Log,
    Matched,
    Observed,
    RequestBegan,
    RequestClosed,
    SnapshotOwned,
    SnapshotTaken,
    TokenOut,
    Warned,
)
from kvlab.recording import SCHEMA, Recording, fold_bytes, fold_requests, frame
from tests.recording.streams import manifest, random_events


def _request_row(events: list[Event], request: int) -> dict[str, Any]:
    """What one request did, looked up in plain Python."""
    mine = [event for event in events if event.request == request]
    began = next((event for event in mine if isinstance(event, RequestBegan)), None)
    matched = next((event for event in reversed(mine) if isinstance(event, Matched)), None)
    closed = next((event for event in reversed(mine) if isinstance(event, RequestClosed)), None)
    readings = [event for event in mine if isinstance(event, BytesRead)]
    seen = next((event for event in reversed(readings) if event.source != "twin" and event.phase == "close"), None)
    twin = next((event for event in reversed(readings) if event.source == "twin"), None)
    result: dict[str, Any] = {
        "request": request,
        "label": began.label if began else None,
        "tokens": began.tokens if began else None,
        "limiting_layer": matched.layer if matched else None,
        "retained": seen.weights + seen.live + seen.snapshots if seen else None,
        "warnings": [event.message for event in mine if isinstance(event, Warned)],
    }
    for source, names in (
        (matched, ("matched", "cached", "left", "reason")),
        (closed, ("generated", "stop", "ttft_s", "prefill_s", "decode_s", "peak", "text")),
        (seen, ("nodes", "counted", "live", "snapshots", "active", "unattributed", "pool", "budget", "footprint")),
    ):
        result |= {name: getattr(source, name, None) for name in names}
    chunks = [event for event in mine if isinstance(event, ChunkRan)]
    came = any(isinstance(event, TokenOut) for event in mine) or bool(closed and closed.generated)
    result["evaluated"] = None if matched is None else matched.left if came else sum(event.end - event.start for event in chunks)
    result["peak"] = getattr(closed or seen, "peak", None)
    result["paged_out"] = _paged_out(seen)
    result["predicted_paged_out"] = _paged_out(twin)
    return result | {f"predicted_{name}": getattr(twin, name, None) for name in ("counted", "live", "nodes")}


def _paged_out(reading: BytesRead | None) -> int | None:
    """Return what snapshots count: told apart only where the budget sees something else."""
    return None if reading is None else reading.counted if reading.paged_out is None else reading.paged_out


@given(seed=st.integers(0, 2**32), requests=st.integers(0, 8))
@settings(max_examples=25)
def test_a_row_a_request(seed: int, requests: int) -> None:
    events = random_events(seed, requests)
    recording = Recording.of(manifest(stored_text=True), events)
    assert recording.requests.schema == pl.Schema(fold_requests.SCHEMA)
    expected = [_request_row(events, request) for request in range(1, requests + 1)]
    assert recording.requests.to_dicts() == [{name: one[name] for name in fold_requests.SCHEMA} for one in expected]


def test_a_cancelled_request_tells_what_ran() -> None:
    """Cancelled after 3 of 54 tokens, and before the first: no token came, so there is no TTFT and no decode."""
    log = Log(clock=lambda: 0.0)
    for request, ran in ((1, 3), (2, 0)):
        log.request = request
        log.append(RequestBegan(tokens=54))
        log.append(Matched(tokens=54, left=54, reason="nothing_shared"))
        if ran:
            log.append(ChunkRan(start=0, end=ran, seconds=0.1))
        log.append(RequestClosed(stop="cancelled", prefill_s=0.1))
    rows = Recording.of(manifest(), list(log.drain())).requests
    assert rows.select("evaluated", "left", "generated", "ttft_s", "decode_s").rows() == [(3, 54, 0, None, None), (0, 54, 0, None, None)]


def test_a_twin_has_no_seconds() -> None:
    log = Log(clock=lambda: 0.0)
    log.request = 1
    log.append(RequestClosed(generated=2, stop="limit", ttft_s=0.5, prefill_s=0.25, decode_s=1.5))
    events = list(log.drain())
    assert Recording.of(manifest(), events).requests.select("ttft_s", "prefill_s", "decode_s").row(0) == (0.5, 0.25, 1.5)
    assert Recording.of(manifest(source="twin"), events).requests.select("ttft_s", "prefill_s", "decode_s").row(0) == (None, None, None)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_bytes_in_long_form(seed: int) -> None:
    events = random_events(seed)
    expected = [
        (event.seq, event.request, event.phase, event.source, owner, kind, getattr(event, name))
        for event in events
        if isinstance(event, BytesRead)
        for name, (owner, kind) in fold_bytes.MEANING.items()
        if getattr(event, name) is not None
    ]
    table = Recording.of(manifest(), events).bytes
    assert table.schema == pl.Schema(fold_bytes.SCHEMA)
    assert table.rows() == expected


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_the_footprint_that_a_run_reads_of_itself_is_a_figure_like_an_importers(seed: int) -> None:
    events = random_events(seed)
    read = [(one.seq, one.t, one.request, one.footprint) for one in events if isinstance(one, BytesRead) and one.source != "twin"]
    assert Recording.of(manifest(), events).observed.rows(named=True) == [
        {"seq": seq, "t": t, "request": request, "gauge": "footprint", "label": "", "value": value, "unit": "B", "step": 1}
        | dict.fromkeys(("number", "words", "pid", "at"))
        for seq, t, request, value in read
    ]


def test_figures_of_both_kinds_stand_in_the_order_of_their_events() -> None:
    events: list[Event] = [
        Observed(seq=0, gauge="swap_used", observed=5),
        BytesRead(seq=1, phase="load", footprint=70),
        Observed(seq=2, gauge="footprint", observed=71),
        BytesRead(seq=3, phase="begin"),
    ]
    table = Recording.of(manifest(), events).observed
    assert table.select("seq", "gauge", "value").rows() == [(0, "swap_used", 5), (1, "footprint", 70), (2, "footprint", 71)]


def test_a_figure_that_was_not_read_has_no_row() -> None:
    table = Recording.of(manifest(), [BytesRead(seq=0, phase="close", request=1)])
    assert "process" not in table.bytes["owner"]
    assert table.requests["footprint"].to_list() == [None]
    assert not table.observed.height


def test_the_call_site_of_an_event_is_told_with_its_callers() -> None:
    events: list[Event] = [
        SnapshotTaken(seq=0, call_site="kvlab/a.py:3 A.f\nrun.py:1 <module>"),
        SnapshotTaken(seq=1),
        SnapshotOwned(seq=2, call_site="kvlab/a.py:5 A.g"),
    ]
    recording = Recording.of(manifest(), events)
    assert [recording.call_site(seq) for seq in range(4)] == [("kvlab/a.py:3 A.f", "run.py:1 <module>"), (), ("kvlab/a.py:5 A.g",), ()]


def test_every_field_of_a_reading_has_an_owner() -> None:
    own = {item.name for item in fields(BytesRead)} - {item.name for item in fields(Event)}
    assert own - set(fold_bytes.MEANING) == {"phase", "nodes"}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_a_row_an_event(seed: int) -> None:
    events = random_events(seed)
    table = frame(events)
    assert table.schema == pl.Schema(SCHEMA)
    assert table.columns == list(COLUMNS)
    assert table.to_dicts() == [dict.fromkeys(COLUMNS) | {"kind": event.kind} | asdict(event) for event in events]


def test_tables_of_nothing_have_their_columns() -> None:
    recording = Recording.of(manifest(), [])
    assert recording.events.schema == pl.Schema(SCHEMA)
    assert recording.requests.schema == pl.Schema(fold_requests.SCHEMA)
    assert recording.bytes.schema == pl.Schema(fold_bytes.SCHEMA)
    assert recording.events.height + recording.requests.height + recording.bytes.height == 0


def test_tables_are_folded_once_and_kept() -> None:
    recording = Recording.of(manifest(), random_events(3))
    assert recording.requests is recording.requests
    assert recording.nodes is recording.nodes


def test_a_source_without_matches_and_ends_still_has_rows() -> None:
    events: list[Event] = [
        Matched(seq=0, request=3, tokens=9),
        BytesRead(seq=1, request=3, phase="close", peak=77),
        BytesRead(seq=2, request=3, phase="idle", peak=99),
        Warned(seq=3, request=5, message="slow"),
    ]
    table = Recording.of(manifest(), events).requests
    assert table.select("request", "tokens", "peak", "warnings").rows() == [(3, 9, 77, []), (5, None, None, ["slow"])]
