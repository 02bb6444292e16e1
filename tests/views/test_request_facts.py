"""What a request shows at a moment: nothing of what comes later, no token that did not come, no seconds of a twin; read as words of the page."""

from __future__ import annotations

import dataclasses
from typing import Any

from playwright.sync_api import Page

import kvlab
from kvlab.events import ChunkRan, FrontierMoved, Log, Matched, NodeBorn, RequestBegan, RequestClosed, Scheduled, TokenOut
from kvlab.recording import Recording
from kvlab.views.dashboard.still import request_line
from tests.views.conftest import Script
from tests.views.dashboard_page import mount

NONE = "\N{EN DASH}"
"""What stands where there is no figure."""


class Ticking(Script):
    """A script whose clock goes on by a tenth of a second an event."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log(clock=iter(place / 10 for place in range(1000)).__next__)


def cancelled() -> Recording:
    """Request 1 of 54 tokens is cancelled after 3; request 2 of 10 restores 4 of 6 that match, evaluates the rest in two parts and says 3 tokens."""
    script = Ticking()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(tokens=54, limit=8), Matched(tokens=54, left=54, reason="nothing_shared"), Scheduled(end=50))
    script.read("begin")
    script.add(ChunkRan(start=0, end=3))
    script.read("close")
    script.add(RequestClosed(generated=0, stop="cancelled", ttft_s=0.0))
    script.log.request = 2
    script.add(RequestBegan(label="two", tokens=10, limit=3))
    script.add(Matched(tokens=10, matched=6, cached=4, left=6, reason="reuse_limited_by_restore_point", layer="recurrent"))
    script.add(NodeBorn(node=1, parent=0, end=4), FrontierMoved(node=1))
    script.read("begin")
    script.add(ChunkRan(start=4, end=7))
    script.read("prefill")
    script.add(ChunkRan(start=7, end=10))
    script.read("prefill")
    script.read("attach")
    script.add(TokenOut(index=0), TokenOut(index=1), TokenOut(index=2))
    script.read("decode")
    script.read("close")
    script.add(RequestClosed(generated=3, stop="limit", ttft_s=0.8, decode_s=0.2))
    return script.recording()


def seq_of(recording: Recording, kind: str, request: int, place: int = 0) -> int:
    return recording.events.filter(kind=kind, request=request).item(place, "seq")


def facts(page: Page, request: int, seq: int) -> Any:
    return page.evaluate("([request, seq]) => requestFacts(store, store.requests[store.rowOfRequest.get(request)], seq)", [request, seq])


def words(page: Page, request: int, seq: int) -> str:
    return page.evaluate("([request, seq]) => requestWords(requestFacts(store, store.requests[store.rowOfRequest.get(request)], seq), store)", [request, seq])


def test_a_cancelled_request_says_so_and_has_no_first_token(page: Page) -> None:
    recording = cancelled()
    mount(page, recording)
    closed = seq_of(recording, "request_closed", 1)
    told = words(page, 1, closed)
    assert "3 evaluated, 51 not evaluated" in told
    assert f"TTFT {NONE}, decode {NONE}" in told
    assert told.endswith("cancelled at 3 of 54 tokens; nothing shared")
    # while it runs nothing of its end is known
    running = words(page, 1, closed - 1)
    assert "3 evaluated, 51 to come" in running
    assert "cancelled" not in running
    capture = "seq => captures(store.scene(store.placeOf(seq)))"
    assert page.evaluate(capture, closed - 1) == [{"at": 50, "is": "scheduled"}]
    assert page.evaluate(capture, closed) == [{"at": 50, "is": "not taken"}]


def test_at_its_beginning_nothing_of_a_request_is_known_but_its_length(page: Page) -> None:
    recording = cancelled()
    mount(page, recording)
    began = seq_of(recording, "request_began", 2)
    assert words(page, 2, began) == f"request 2 two: 10 to come; cached/matched/tokens {NONE}/{NONE}/10; no phase yet; TTFT …, decode …; not matched yet"
    assert facts(page, 2, began)["phases"] == []
    # nothing of the prompt belongs to the path of the request before
    pieces = "seq => stripPieces(store.scene(store.placeOf(seq)), requestFacts(store, store.requests.at(-1), seq)).map(piece => piece.node)"
    assert page.evaluate(pieces, began) == [-1]


def test_phases_grow_with_the_moment(page: Page) -> None:
    recording = cancelled()
    mount(page, recording)
    began = seq_of(recording, "request_began", 2)
    second = seq_of(recording, "chunk_ran", 2, 1)
    # five events after its beginning: match, node, frontier; then begin is read, and two parts of the prompt with a reading between them
    assert [name for name, *_ in facts(page, 2, second)["phases"]] == ["begin", "prefill"]
    begin, prefill = facts(page, 2, second)["phases"]
    assert (round(10 * (begin[2] - begin[1])), round(10 * (prefill[2] - prefill[1]))) == (4, second - began - 4)
    runs = [(run["sort"], run["end"] - run["start"]) for run in facts(page, 2, second - 1)["runs"]]
    assert runs == [("restored", 4), ("recomputed", 2), ("new", 1), ("waiting", 3)]
    closed = seq_of(recording, "request_closed", 2)
    assert [name for name, *_ in facts(page, 2, closed)["phases"]] == ["begin", "prefill", "attach", "decode", "close"]
    assert "TTFT 800 ms, decode 10 tok/s; reuse limited by restore point (recurrent)" in words(page, 2, closed)
    assert "…" in words(page, 2, closed - 1)


def test_phases_whose_events_are_left_out_have_no_length(page: Page) -> None:
    recording = cancelled()
    closed = seq_of(recording, "request_closed", 2)
    mount(page, Recording(dataclasses.replace(recording.manifest, left_out=("prefill_readings",)), recording.events))
    assert facts(page, 2, closed)["phases"] == []
    assert "no phase" in words(page, 2, closed)


def test_the_text_of_a_moment_says_that_it_was_cancelled() -> None:
    recording = cancelled()
    closed = seq_of(recording, "request_closed", 1)
    assert request_line(recording, 1, closed).endswith("(nothing_shared); 0 generated, cancelled")
    assert "cancelled" not in request_line(recording, 1, closed - 1)


def test_a_twin_has_no_seconds(page: Page) -> None:
    recording = kvlab.twin("smollm2").run("chat:2", progress=False)
    mount(page, recording)
    told = words(page, 2, recording.events.item(-1, "seq"))
    assert f"TTFT {NONE}, decode {NONE}" in told
    assert " ms" not in told
    assert "events" in told
    rows = page.locator(".kv-request[data-request]").all_inner_texts()
    assert all("ms" not in row.split() and "tok/s" not in row for row in rows)
    assert "phases in events" in page.locator(".kv-requests-head").inner_text()


def test_the_strip_is_reached_and_read_by_keyboard(page: Page) -> None:
    recording = cancelled()
    mount(page, recording)
    page.locator(".kv-slider").focus()
    page.keyboard.press("s")
    strip = page.locator(".kv-strip")
    assert strip.evaluate("it => it === document.activeElement && it.getAttribute('role') === 'listbox'")
    chosen = "() => document.getElementById(document.querySelector('.kv-strip').getAttribute('aria-activedescendant')).getAttribute('aria-label')"
    assert page.evaluate(chosen) == "tokens 0 to 4: restored, node #1"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(chosen) == "tokens 4 to 6: recomputed"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.kv-node.kv-selected')?.dataset.node === '1'")


def test_phases_and_sorts_have_one_legend_and_no_look_in_common(page: Page) -> None:
    mount(page, cancelled())
    legend = page.locator("section[aria-label=Requests] .kv-legend")
    told = legend.inner_text().split()
    assert {"begin", "prefill", "attach", "decode", "close", "restored", "recomputed", "evaluated", "generated"} <= set(told)
    looks = legend.locator("i").evaluate_all(
        "all => all.map(it => { const style = getComputedStyle(it); return [style.backgroundColor, style.backgroundImage, style.borderStyle].join(); })"
    )
    assert len(set(looks)) == len(looks)
