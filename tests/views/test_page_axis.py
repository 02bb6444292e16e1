"""Axes of the page as text: round values, names that do not meet, marks that are thinned, the pool apart, an overview that stays readable."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page

import kvlab
from kvlab.events import FrontierMoved, NodeBorn, NodeRanked, RequestBegan, RequestClosed
from kvlab.units import MIB
from kvlab.views.dashboard.dataset import dataset_of
from kvlab.views.dashboard.widget import stepper
from tests.views import dashboard_page
from tests.views.conftest import Script

if TYPE_CHECKING:
    from kvlab.recording import Recording

KIB = 1024


def mount(page: Page, data: dict[str, Any], width: int = 960, at: str = "end") -> None:
    page.set_viewport_size({"width": width, "height": 1200})
    page.mouse.move(1, 1)
    dashboard_page.mount(page, data, at=at)


def with_pool(pool: int) -> Recording:
    script = Script()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(tokens=10), NodeBorn(node=1, parent=0, end=10), FrontierMoved(node=1))
    script.read("attach", live=4 * MIB, pool=pool)
    script.read("close", live=4 * MIB, snapshots=MIB)
    script.add(RequestClosed(stop="limit"))
    return script.recording()


@pytest.mark.parametrize(
    ("top", "words"),
    [
        (877.13 * KIB, ["0", "200 KiB", "400 KiB", "600 KiB", "800 KiB"]),
        (5.56 * MIB, ["0", "2 MiB", "4 MiB"]),
        (1.71 * MIB, ["0", "0.5 MiB", "1 MiB", "1.5 MiB"]),
        (1, ["0", "1 B"]),
        (0, ["0"]),
    ],
)
def test_values_are_round_and_in_one_unit(page: Page, top: float, words: list[str]) -> None:
    mount(page, dataset_of(with_pool(0)).whole())
    ticks = page.evaluate("top => bytesTicks(top)", top)
    assert [tick["words"] for tick in ticks] == words
    assert all(0 <= tick["value"] <= top for tick in ticks)


@pytest.mark.parametrize("count", [3, 60, 10_000])
def test_names_of_requests_do_not_meet_and_none_is_cut(page: Page, count: int) -> None:
    mount(page, dataset_of(with_pool(0)).whole())
    ticks = page.evaluate(
        """count => {
          const rows = Array.from({ length: count }, (_, place) => ({ request: place + 1, began: place }));
          return requestTicks(rows, began => 56 + (840 * began) / count, 900).map(tick => [tick.at, tick.at + 2 + labelWidth(tick.words)]);
        }""",
        count,
    )
    assert len(ticks) >= min(count, 8)
    assert ticks[-1][1] <= 900
    assert all(before[1] < after[0] for before, after in pairwise(ticks))


@pytest.mark.parametrize("width", [420, 960, 1400])
def test_no_name_of_an_axis_is_cut(page: Page, fifteen: Recording, width: int) -> None:
    mount(page, dataset_of(fifteen).whole(), width)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('svg .kv-tick, svg .kv-small')].filter(it => {
          const own = it.getBoundingClientRect(), all = it.closest('svg').getBoundingClientRect();
          return own.left < all.left - 0.5 || own.right > all.right + 0.5 || own.top < all.top - 0.5 || own.bottom > all.bottom + 0.5;
        }).map(it => it.textContent)"""
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [960, 1400])
def test_no_cell_of_the_trie_is_cut(page: Page, width: int) -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    # numbers as they are after ten thousand requests
    for request in (9_998, 9_999):
        script.log.request = request
        node = 20_000 + request
        script.add(RequestBegan(tokens=10), NodeBorn(node=node, parent=0, end=10), FrontierMoved(node=node), NodeRanked(node=node, used=request, uses=1))
        script.read("close")
    recording = script.recording()
    data = dataset_of(recording).whole()
    for table in ("events", "ranks", "nodes", "readings"):
        for column in ("seq", "born", "died", "used_at"):
            if column in data["add"][table]:
                data["add"][table][column] = [value + 320_000 if value >= 0 else value for value in data["add"][table][column]]
    mount(page, data, width)
    cells = page.locator(".kv-node .kv-number, .kv-node .kv-name").evaluate_all(
        "all => all.filter(it => it.scrollWidth > it.clientWidth + 1).map(it => it.textContent)"
    )
    assert page.locator(".kv-node").count() == 3
    assert cells == []


def test_a_pool_that_flattens_the_rest_is_left_out_until_it_is_asked_for(page: Page) -> None:
    mount(page, dataset_of(with_pool(20 * MIB)).whole())
    band = page.locator("path.kv-band-pool")
    button = page.locator(".kv-pool")
    assert band.count() == 0
    assert button.inner_text() == "pool, up to 20.00 MiB, not drawn"
    assert page.locator(".kv-bytes .kv-tick").first.text_content() == "0"
    page.locator(".kv-slider").focus()
    page.keyboard.press("f")
    band.wait_for(state="attached")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    band.wait_for(state="detached")
    mount(page, dataset_of(with_pool(2 * MIB)).whole())
    assert band.count() == 1


def test_a_mark_that_is_far_off_is_kept_when_marks_are_thinned(page: Page) -> None:
    script = Script()
    for request in range(1, 101):
        script.log.request = request
        script.add(RequestBegan())
        script.read("close", snapshots=MIB)
        script.read("close", snapshots=MIB, counted=3 * MIB if request == 42 else MIB, source="twin")
        script.add(RequestClosed(stop="limit"))
    mount(page, dataset_of(script.recording()).whole())
    marks = page.evaluate("predictedMarks(store, 10)")
    assert len(marks) == 10
    assert 42 in [mark["request"] for mark in marks]


def test_of_many_readings_the_highest_and_the_last_are_drawn(page: Page) -> None:
    script = Script()
    for request in range(1, 101):
        script.log.request = request
        script.read("decode", live=(9 if request == 42 else 2) * MIB)
        script.read("close", live=MIB)
    recording = script.recording()
    mount(page, dataset_of(recording).whole())
    live = page.evaluate("bytesSteps(store, 20).map(step => step.live)")
    assert len(live) == 21
    assert max(live) == 9 * MIB
    assert live[-1] == MIB


def test_without_a_reading_there_is_no_axis_of_bytes(page: Page) -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    mount(page, dataset_of(script.recording()).whole())
    assert page.locator(".kv-bytes text").all_text_contents() == ["no bytes were read yet"]


def test_what_stood_before_a_live_run_is_there_from_the_beginning(page: Page) -> None:
    twin = kvlab.twin(["recurrent", "kv"])
    list(twin.step("Why is the sky blue?"))
    view = stepper(twin.step("Why is the sea blue?"), on=twin)
    held = twin.closing.snapshots
    assert held > 0
    mount(page, view._data)
    wide = "name => document.querySelector(name).getBoundingClientRect().width"
    band, plot = "path.kv-band-snapshots", ".kv-bytes"
    assert page.evaluate(wide, band) > 0.8 * page.evaluate(wide, plot)
    view.next(count=30)
    mount(page, view._data, at="start")
    assert page.evaluate(wide, band) > 0.8 * page.evaluate(wide, plot)
    assert page.evaluate("store.reading(store.seqAt(0)).snapshots") == held
    told = page.locator("#root").inner_text()
    page.locator(".kv-node").first.click()
    page.wait_for_function("() => document.querySelector('.kv-details').textContent.includes('before the run')")
    assert "event -" not in told + page.locator("#root").inner_text()
    view.close()


def test_a_jump_that_finds_nothing_says_so_until_the_moment_moves(page: Page, fifteen: Recording) -> None:
    mount(page, dataset_of(fifteen).whole())
    sentence = page.locator(".kv-sentence")
    for seq in (5, 30, fifteen.events.item(-1, "seq")):
        page.evaluate("seq => view.go(seq)", seq)
        page.wait_for_function("seq => document.getElementById('root').dataset.seq === String(seq)", arg=seq)
        page.locator(".kv-jumps").select_option("first wrong position")
        # whatever else has it drawn again
        page.evaluate("() => new Promise(done => { view.app.redraw(); requestAnimationFrame(() => requestAnimationFrame(done)); })")
        assert sentence.inner_text() == "There is no moment for “first wrong position”: no restored position was found wrong."
    page.locator(".kv-slider").focus()
    page.keyboard.press(",")
    page.wait_for_function("() => !document.querySelector('.kv-sentence').textContent.includes('no moment')")


def test_space_plays_from_the_trie_too(page: Page, fifteen: Recording) -> None:
    mount(page, dataset_of(fifteen).whole(), at="start")
    page.locator(".kv-outline").focus()
    page.keyboard.press(" ")
    page.wait_for_function("() => Number(document.getElementById('root').dataset.seq) > 0")
    page.keyboard.press(" ")
    assert page.evaluate("view.app.state.playing") is False


def test_chips_say_which_layers_they_are_of(page: Page) -> None:
    mount(page, dataset_of(kvlab.twin("qwen3.8-27b").run("unrelated:2", progress=False)).whole())
    assert page.locator(".kv-chip-head").all_text_contents() == ["R", "K", "D"]
    row = page.locator(".kv-node").nth(1).get_attribute("aria-label") or ""
    for kind in ("recurrent", "kv", "draft_kv"):
        assert f", {kind} owned" in row or f", {kind} lazy" in row
    assert "D = layer 64 (draft_kv)" in page.locator(".kv-tip").inner_text()


def test_links_to_nodes_have_words_between_them(page: Page, pair: Recording) -> None:
    mount(page, dataset_of(pair).whole())
    assert "Shift and drag" in page.locator(".kv-window-words").inner_text()
    page.evaluate("seq => view.app.setWindow([seq - 20, seq])", pair.events.item(-1, "seq"))
    page.wait_for_function("() => document.querySelector('.kv-window-words').textContent.includes('#1 (6.00 MiB), #2 (4.00 MiB)')")


def test_the_overview_keeps_lines_apart_and_names_nodes(page: Page, pair: Recording) -> None:
    mount(page, dataset_of(pair).whole())
    assert page.evaluate("overviewPitch(2, 300)") == {"every": 1, "step": 16}
    crowded = page.evaluate("overviewPitch(6000, 300)")
    assert crowded["step"] >= 3
    assert crowded["every"] * 100 >= 6000
    names = page.evaluate(
        """() => {
          const scene = store.scene(store.count - 1);
          return overviewNames(scene, scene.alive, { x: token => 50 * token, step: 16, right: 600 }).map(name => name.words);
        }"""
    )
    assert sorted(names) == ["#1", "#2", "#3"]
    assert page.evaluate("tokenTicks(64, 6).map(tick => tick.words)") == ["0", "20", "40", "60 tokens"]


def test_a_node_far_down_shows_its_number_and_its_marks(page: Page) -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(tokens=90), *(NodeBorn(node=node, parent=node - 1, start=10 * node - 10, end=10 * node, user=True) for node in range(1, 9)))
    script.add(FrontierMoved(node=8))
    script.read("close")
    mount(page, dataset_of(script.recording()).whole())
    names = page.locator(".kv-node .kv-name")
    assert names.count() == 9
    cut = names.evaluate_all(
        """all => all.filter(it => {
          const right = it.getBoundingClientRect().right;
          return it.scrollWidth > it.clientWidth + 1 || right > it.parentElement.getBoundingClientRect().right;
        }).map(it => it.textContent)"""
    )
    assert cut == []
    assert "#8 ★ ◂" in names.all_text_contents()


def test_a_run_without_requests_has_nothing_odd_on_its_axes(page: Page) -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    script.read("load")
    mount(page, dataset_of(script.recording()).whole())
    assert page.locator(".kv-bytes .kv-tick").all_text_contents() == ["0"]
    assert " 1 tokens" not in page.locator("#root").inner_text()
