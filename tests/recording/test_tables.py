"""The tables of events, requests and bytes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.events import COLUMNS, BytesRead, Event, Matched, RequestBegan, RequestClosed, Warned
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
        (seen, ("nodes", "counted", "live", "snapshots", "active", "unattributed", "pool", "budget")),
    ):
        result |= {name: getattr(source, name, None) for name in names}
    result["peak"] = getattr(closed or seen, "peak", None)
    return result | {f"predicted_{name}": getattr(twin, name, None) for name in ("counted", "live", "nodes")}


@given(seed=st.integers(0, 2**32), requests=st.integers(0, 8))
@settings(max_examples=25)
def test_a_row_a_request(seed: int, requests: int) -> None:
    events = random_events(seed, requests)
    recording = Recording.of(manifest(stored_text=True), events)
    assert recording.requests.schema == pl.Schema(fold_requests.SCHEMA)
    expected = [_request_row(events, request) for request in range(1, requests + 1)]
    assert recording.requests.to_dicts() == [{name: one[name] for name in fold_requests.SCHEMA} for one in expected]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_bytes_in_long_form(seed: int) -> None:
    events = random_events(seed)
    expected = [
        (event.seq, event.request, event.phase, event.source, owner, kind, getattr(event, name))
        for event in events
        if isinstance(event, BytesRead)
        for name, (owner, kind) in fold_bytes.MEANING.items()
    ]
    table = Recording.of(manifest(), events).bytes
    assert table.schema == pl.Schema(fold_bytes.SCHEMA)
    assert table.rows() == expected


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
