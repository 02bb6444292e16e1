"""A band of bytes is clicked, or chosen by keyboard: what it holds is selected, and Python hears it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from kvlab.events import (
    Allocated,
    FrontierMoved,
    Loaded,
    Matched,
    NodeBorn,
    PoolCleared,
    RequestBegan,
    RequestClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
)
from kvlab.recording import Recording
from kvlab.units import MIB
from tests.views.conftest import WEIGHTS, Script
from tests.views.dashboard_page import mount
from tests.views.test_bytes_chart import with_footprint

SITE = "kvlab/layers/kv.py:120 snapshot\nnotebook.py:3 <module>"


def two_nodes(site: str | None) -> Recording:
    """Request 1 leaves 2 MiB on node 1, request 2 leaves 6 MiB on node 2; the live buffer takes 16 MiB, and the pool is cleared at the end."""
    script = Script()
    script.add(Loaded(weights=WEIGHTS, active=WEIGHTS), NodeBorn(node=0))
    script.read("load")
    for request, (end, start) in enumerate([(2, 0), (8, 2)], 1):
        script.log.request = request
        script.add(RequestBegan(label=f"r{request}", tokens=end), Matched(tokens=end, left=end), Allocated(owner="live", retained=16 * MIB, call_site=site))
        script.add(NodeBorn(node=request, parent=request - 1, start=start, end=end), SnapshotTaken(snapshot=request, layer="kv", start=start, end=end))
        script.add(SnapshotPlaced(snapshot=request, node=request), FrontierMoved(node=request))
        size = (end - start) * MIB
        script.add(SnapshotOwned(snapshot=request, counted=size, retained=size, call_site=site))
        script.read("close", live=16 * MIB, snapshots=end * MIB, pool=4 * MIB)
        script.add(RequestClosed(generated=0, stop="no_reply"))
    script.add(PoolCleared(pool=MIB))
    script.read("unload", live=16 * MIB, snapshots=8 * MIB, pool=3 * MIB)
    return script.recording()


def seq_of(recording: Recording, kind: str, request: int) -> int:
    return int(recording.events.filter(kind=kind, request=request).item(-1, "seq"))


def held(page: Page, owner: str, seq: int, which: str = "{}") -> Any:
    return page.evaluate(f"([owner, seq]) => bandHolds(store.scene(store.placeOf(seq)), owner, {which})", [owner, seq])


def test_a_band_names_node_layer_request_event_and_call_site(page: Page) -> None:
    recording = two_nodes(SITE)
    mount(page, recording)
    last = recording.events.item(-1, "seq")
    label = page.evaluate("store.about.groups[0].label")
    found = held(page, "snapshots", last)
    assert found["nodes"] == [[2, 6 * MIB], [1, 2 * MIB]]
    assert (found["node"], found["layers"], found["request"]) == (2, [label], 2)
    assert found["event"] == seq_of(recording, "snapshot_owned", 2)
    assert found["callSite"] == SITE
    assert recording.call_site(found["event"]) == tuple(SITE.splitlines())
    # the lowest quarter of the band is node 1, which request 1 left
    first = held(page, "snapshots", last, "{ within: 0.1 }")
    assert (first["node"], first["request"], first["event"]) == (1, 1, seq_of(recording, "snapshot_owned", 1))
    live = held(page, "live", last)
    assert (live["node"], live["request"], live["layers"]) == (2, 2, [label])
    assert live["event"] == seq_of(recording, "allocated", 2)
    pool = held(page, "pool", last)
    assert (pool["nodes"], pool["node"], pool["event"]) == ([], -1, recording.events.filter(kind="pool_cleared").item(0, "seq"))
    # before request 2 only node 1 is there
    assert held(page, "snapshots", seq_of(recording, "request_closed", 1))["nodes"] == [[1, 2 * MIB]]


def test_without_call_sites_nothing_is_said_of_them(page: Page) -> None:
    recording = two_nodes(None)
    mount(page, recording)
    found = held(page, "snapshots", recording.events.item(-1, "seq"))
    assert found["callSite"] == ""
    assert "asked for" not in page.evaluate("held => bandWords(held)", found)
    with_site = page.evaluate("([held, callSite]) => bandWords({ ...held, callSite })", [found, SITE])
    assert "allocated at kvlab/layers/kv.py:120 snapshot ← notebook.py:3 <module>" in with_site


def test_a_click_selects_what_lies_there(page: Page) -> None:
    mount(page, two_nodes(SITE))
    band = page.locator(".kv-band-snapshots[data-owner]")
    box = page.locator(".kv-bytes").bounding_box()
    reach = band.bounding_box()
    assert box
    assert reach
    # near the right edge, where 8 MiB are held: at its bottom node 1, above it node 2
    x = reach["x"] + reach["width"] - 2
    page.mouse.click(x, reach["y"] + reach["height"] - 2)
    page.wait_for_function("() => document.querySelector('.kv-held').textContent.includes('#1 chosen')")
    page.mouse.click(x, reach["y"] + 3)
    page.wait_for_function("() => document.querySelector('.kv-held').textContent.includes('#2 chosen')")
    told = page.evaluate("heard")
    assert [(one["node"], one["band"]["owner"]) for one in told] == [(1, "snapshots"), (2, "snapshots")]
    assert page.locator(".kv-node.kv-selected").get_attribute("data-node") == "2"


def test_bands_are_chosen_by_keyboard(page: Page) -> None:
    mount(page, two_nodes(SITE))
    page.locator(".kv-slider").focus()
    page.keyboard.press("y")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("heard") == []
    page.wait_for_function("() => document.querySelector('path.kv-band-snapshots').classList.contains('kv-chosen')")
    page.keyboard.press("ArrowUp")
    page.wait_for_function("() => document.querySelector('path.kv-band-live').getAttribute('aria-selected') === 'true'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    (told,) = page.evaluate("heard")
    assert (told["node"], told["band"]["owner"], told["band"]["bytes"]) == (2, "snapshots", 8 * MIB)
    # another choice lets the band go
    page.keyboard.press("t")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.evaluate("heard.at(-1)") == {"node": 0, "band": None}


def test_the_footprint_has_its_line_and_its_words(page: Page) -> None:
    mount(page, with_footprint())
    steps = page.evaluate("bytesSteps(store).map(step => [step.footprint, step.grown])")
    assert steps == [[900 * MIB, 0], [930 * MIB, 30 * MIB], [930 * MIB, 30 * MIB], [1000 * MIB, 100 * MIB]]
    style = "name => getComputedStyle(document.querySelector(`.kv-line-${name}`)).strokeDasharray"
    assert len({page.evaluate(style, name) for name in ("footprint", "active", "budget", "counted")}) == 4
    assert "footprint since the first reading" in page.locator(".kv-legend").first.inner_text()
    assert "footprint of the process 1000.00 MiB" in (page.locator(".kv-bytes").get_attribute("aria-label") or "")
    mount(page, two_nodes(None))
    assert page.locator(".kv-line-footprint").count() == 0
    assert "footprint" not in page.locator(".kv-panel").first.inner_text()
