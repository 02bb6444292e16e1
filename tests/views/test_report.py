from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page

import kvlab
from kvlab.errors import UnreadableInput
from kvlab.events import FrontierMoved, NodeBorn, RequestBegan, RequestClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken, TokenOut
from kvlab.recording import Manifest, Recording, load
from kvlab.views import report, thinned
from kvlab.views.dashboard.dataset import dataset_of
from kvlab.views.report import report_html, write_report
from tests.browser.lab_page import chromium
from tests.views.conftest import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvlab.findings import Findings

MOST_BYTES = 3_000_000


class Tags(HTMLParser):
    """Collects every tag with its attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page_text(pair: Recording, findings: Findings) -> str:
    return report_html(pair, findings)


def test_nothing_is_loaded_from_anywhere(page_text: str) -> None:
    for _, attributes in Tags(page_text).tags:
        for name in ("src", "href", "srcset", "data", "action"):
            assert (attributes.get(name) or "data:").startswith("data:")
    assert not re.search(r"@import|url\(", page_text.split("</style>", maxsplit=1)[0])


def test_the_page_forbids_every_request(page_text: str) -> None:
    (policy,) = [meta["content"] for meta in Tags(page_text).named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_text_of_the_recording_is_escaped(page_text: str) -> None:
    outside = re.sub(r"<script.*?</script>", "", page_text, flags=re.DOTALL)
    assert "<b>&second" not in outside
    assert "&lt;b&gt;&amp;second" in outside
    assert "&lt;/script&gt; &amp; &lt;i&gt;" in outside
    assert "grow &lt;for&gt; 3 requests" in outside


def test_data_in_a_script_cannot_end_it() -> None:
    script = Script()
    script.log.request = 1
    script.read("</script><b>", live=1)
    text = report_html(script.recording("</title><script>alert(1)</script>"))
    tags = Tags(text)
    assert len(tags.named("script")) == 2
    data = json.loads(tags.scripts[0])
    assert data["title"].endswith("</title><script>alert(1)</script>")


def test_every_part_is_there(page_text: str, pair: Recording) -> None:
    for words in ("Summary", "Findings", "Step through it", "The same as pictures and text", "Requests", "What made this recording", "Make it again"):
        assert f"<h2>{words}</h2>" in page_text
    assert "20.00 MiB" in page_text
    assert len(Tags(page_text).named("tr")) == 1 + pair.requests.height
    assert "mlx 0." in page_text


def test_views_have_a_picture_and_words_without_scripts(page_text: str) -> None:
    tags = Tags(page_text)
    images = tags.named("img")
    assert len(images) == len([attributes for attributes in tags.named("details") if attributes.get("class") == "still"]) == 4
    assert all(image["alt"] and (image["src"] or "").startswith("data:image/png;base64,") for image in images)


def test_how_to_make_it_again_is_told(page_text: str) -> None:
    assert f"kvlab run pair --model toy --set budget_bytes={20 * 2**20} --out again.kvrec" in page_text
    assert "kvlab twin" in report_html(Script().recording(source="twin"))


def test_answers_are_shown_only_when_they_were_stored(page_text: str) -> None:
    assert 'class="answer"' not in page_text
    script = Script()
    script.log.request = 1
    script.add(RequestBegan(), RequestClosed(stop="limit", text="<i>Paris"))
    assert '<td class="answer">&lt;i&gt;Paris</td>' in report_html(script.recording(stored_text=True))


def test_what_is_not_known_of_a_recording_is_left_out(page_text: str) -> None:
    assert "<dt>seed</dt><dd>0</dd>" in page_text
    assert "<dt>seed</dt>" not in report_html(Script().recording(seed=None))


def test_an_empty_recording(empty: Recording) -> None:
    assert "0 requests" in report_html(empty)


def eight_grams(text: str) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[at : at + 8]) for at in range(len(words) - 7)}


def test_prompts_and_answers_are_left_out_unless_stored(tmp_path: Path) -> None:
    prompt = "the quick brown fox jumps over the lazy dog while eleven green parrots sing about tomorrow in a very old boat"
    answer = "nine purple lanterns hang above the quiet harbour where sailors mend their nets and wait for news from home"
    script = Script()
    script.log.request = 1
    script.add(NodeBorn(node=0), RequestBegan(label="one", tokens=20, text=prompt), TokenOut(index=0, token=5, text=answer))
    script.read("close")
    script.add(RequestClosed(stop="limit", text=answer))
    events = list(script.log.drain())
    for stored in (False, True):
        recording = Recording.of(Manifest.now(model="toy", workload="one", stored_text=stored), events)
        packed = recording.pack(tmp_path / f"{stored}.kvrec.zip")
        texts = [report_html(recording), json.dumps(dataset_of(recording).whole()), load(packed).events.write_json()]
        found = [sorted((eight_grams(prompt) | eight_grams(answer)) & eight_grams(text)) for text in texts]
        # stored on purpose: the recording has them and the report's table shows the answer; what a page is sent is another choice
        assert [bool(one) for one in found] == [stored, False, stored]
    shown = json.dumps(dataset_of(recording, texts=True).whole())
    assert eight_grams(prompt) <= eight_grams(shown)


def test_a_run_of_sixty_requests_is_a_small_file(tmp_path: Path) -> None:
    twin = kvlab.twin("smollm2")
    recording = twin.run("unrelated:60", policy=twin.policy.replace(budget_bytes=16 * 2**20), progress=False)
    assert write_report(recording, tmp_path / "report.html", kvlab.diagnose(recording)).stat().st_size < MOST_BYTES


def test_a_long_run_stays_below_three_megabytes() -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    for request in range(1, 2501):
        script.log.request = request
        script.add(RequestBegan(label=f"question {request}", tokens=50), NodeBorn(node=request, parent=0, start=0, end=50))
        script.add(SnapshotTaken(snapshot=request, layer="kv", end=50), SnapshotPlaced(snapshot=request, node=request), FrontierMoved(node=request))
        script.add(SnapshotOwned(snapshot=request, counted=1000, retained=1000))
        script.read("close", live=4096, snapshots=1000 * request)
        script.add(RequestClosed(stop="limit"))
    assert len(report_html(script.recording()).encode()) < MOST_BYTES


def test_the_file_is_written_and_small(fifteen: Recording, tmp_path: Path) -> None:
    out = write_report(fifteen, tmp_path / "report.html")
    assert out.is_absolute()
    assert out.stat().st_size < MOST_BYTES
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["missing/report.html", ""])
def test_a_place_that_cannot_be_written(pair: Recording, tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        write_report(pair, tmp_path / name)
    assert caught.value.exit_code == 3
    assert "folder" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as it:
        yield it


def opened(browser: Browser, path: Path, scheme: Any, **options: Any) -> tuple[Page, list[str]]:
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 900}, **options)
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: troubles.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(path.as_uri())
    return page, troubles


def until(page: Page, expression: str) -> None:
    """Wait for an expression of the page to be true. The page's own policy forbids what Playwright's `wait_for_function` does."""
    for _ in range(1000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"never true: {expression}")


SEQ = "Number(document.getElementById('kvlab').dataset.seq)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_everything_follows_slider_clicks_and_keys(browser: Browser, fifteen: Recording, findings: Findings, tmp_path: Path, scheme: str) -> None:
    page, troubles = opened(browser, write_report(fifteen, tmp_path / "report.html", findings), scheme)
    page.locator("body[data-drawn=yes]").wait_for()
    for name in (".kv-bytes", ".kv-spans", ".kv-outline", ".kv-requests"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 40
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[scheme]
    assert page.evaluate("getComputedStyle(document.getElementById('kvlab')).backgroundColor") == ground

    last = fifteen.events.item(-1, "seq")
    assert page.evaluate(SEQ) == last
    outline = page.locator(".kv-outline")
    assert "#45" in outline.inner_text()
    page.locator(".kv-slider").focus()
    page.keyboard.press("Home")
    until(page, f"{SEQ} === 0")
    assert "#45" not in outline.inner_text()
    page.keyboard.press("r")
    until(page, "document.querySelector('.kv-sentence').textContent.startsWith('Request 1 begins')")
    page.locator(".kv-next").click()
    until(page, "document.querySelector('.kv-sentence').dataset.kind === 'matched'")

    page.keyboard.press("End")
    until(page, f"{SEQ} === {last}")
    page.locator(".kv-bytes").scroll_into_view_if_needed()
    box = page.locator(".kv-bytes").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    until(page, f"{SEQ} > {last} * 0.4 && {SEQ} < {last} * 0.6")
    assert troubles == []
    page.close()


def test_without_scripts_the_pictures_are_shown(browser: Browser, pair: Recording, tmp_path: Path) -> None:
    page, troubles = opened(browser, write_report(pair, tmp_path / "report.html"), "light", java_script_enabled=False)
    assert page.locator("details.still").count() == 4
    for still in page.locator("details.still").all():
        still.locator("summary").click()
        box = still.locator("img").bounding_box()
        assert box is not None
        assert box["width"] > 100
    assert troubles == []
    page.close()


def test_a_packed_report_opens_and_says_what_was_thinned(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinned, "WHOLE", 200)
    monkeypatch.setattr(thinned, "ENDS", 10)
    monkeypatch.setattr(report, "PACKED", 1000)
    recording = kvlab.twin("smollm2").run("unrelated:60", progress=False)
    path = write_report(recording, tmp_path / "report.html")
    page, troubles = opened(browser, path, "light")
    page.locator("body[data-drawn=yes]").wait_for()
    assert page.evaluate(SEQ) == recording.events.item(-1, "seq")
    assert "So that the file stays small it can be stopped at" in page.inner_text("main")
    page.locator(".kv-slider").focus()
    page.keyboard.press("Home")
    until(page, f"{SEQ} === {recording.events.item(0, 'seq')}")
    assert troubles == []
    page.close()


def test_a_narrow_window_does_not_scroll_sideways(browser: Browser, fifteen: Recording, findings: Findings, tmp_path: Path) -> None:
    page, _ = opened(browser, write_report(fifteen, tmp_path / "report.html", findings), "light")
    page.set_viewport_size({"width": 420, "height": 900})
    page.locator("body[data-drawn=yes]").wait_for()
    until(page, "document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_on_paper_everything_is_unfolded_and_keeps_its_colours(browser: Browser, fifteen: Recording, findings: Findings, tmp_path: Path) -> None:
    page, _ = opened(browser, write_report(fifteen, tmp_path / "report.html", findings), "dark")
    page.locator("body[data-drawn=yes]").wait_for()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('.kv-swatch')).printColorAdjust") == "exact"
    assert page.evaluate("getComputedStyle(document.querySelector('pre.command')).whiteSpace") == "pre-wrap"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    page.close()
