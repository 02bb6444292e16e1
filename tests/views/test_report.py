from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page

from kvlab.errors import UnreadableInput
from kvlab.events import FrontierMoved, NodeBorn, RequestBegan, RequestClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken
from kvlab.views import static
from kvlab.views.report import report_html, write_report
from tests.browser.lab_page import chromium
from tests.views.conftest import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvlab.diagnose import Findings
    from kvlab.recording import Recording

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


def test_the_drawing_library_is_there_once(page_text: str) -> None:
    assert page_text.count(static.bundle()) == 1


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
    assert len(tags.named("script")) == 3
    data = json.loads(tags.scripts[0])
    assert data["moments"][0]["words"] == "request 1, </script><b> (event 0)"


def test_every_part_is_there(page_text: str, pair: Recording) -> None:
    for words in ("Summary", "Findings", "Bytes by owner", "The trie and its snapshots", "Requests", "What made this recording"):
        assert f"<h2>{words}</h2>" in page_text
    assert "20.00 MiB" in page_text
    assert len(Tags(page_text).named("tr")) == 1 + pair.requests.height
    assert "mlx 0." in page_text


def test_charts_have_words_and_a_picture_without_scripts(page_text: str) -> None:
    tags = Tags(page_text)
    charts = [attributes for attributes in tags.named("div") if attributes.get("class") == "chart"]
    assert [chart["id"] for chart in charts] == ["chart-bytes", "chart-trie", "chart-spans"]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert page_text.count('<noscript><img src="data:image/png;base64,') == 3
    assert all(image["alt"] for image in tags.named("img"))


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_charts_follow_slider_and_clicks(browser: Browser, fifteen: Recording, findings: Findings, tmp_path: Path, scheme: str) -> None:
    page, troubles = opened(browser, write_report(fifteen, tmp_path / "report.html", findings), scheme)
    page.wait_for_selector("body[data-drawn=yes]")
    for name in ("bytes", "trie", "spans"):
        box = page.locator(f"#chart-{name} svg.marks").bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 100
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[scheme]

    words = page.locator("#at-words")
    assert words.inner_text().startswith("request 15, close")
    trie = page.locator("#chart-trie svg.marks")
    assert "#45" in (trie.text_content() or "")
    page.locator("#at").focus()
    page.keyboard.press("Home")
    page.wait_for_function("document.getElementById('at-words').textContent.startsWith('load')")
    page.wait_for_function("!document.querySelector('#chart-trie svg.marks').textContent.includes('#45')")
    page.locator("#at-on").click()
    page.wait_for_function("document.getElementById('at-words').textContent.startsWith('request 1, begin')")

    # the axis spans 16 units, the load and 15 requests: 7.5 of them is the middle of request 7
    page.locator("#chart-bytes svg.marks").scroll_into_view_if_needed()
    place = page.evaluate("""() => {
      const plot = document.querySelector('#chart-bytes svg.marks .mark-group.role-frame .background').getBoundingClientRect();
      return [plot.x + plot.width * 7.5 / 16, plot.y + plot.height / 2];
    }""")
    page.mouse.click(*place)
    page.wait_for_function("/^request 7/.test(document.getElementById('at-words').textContent)")
    assert troubles == []
    page.close()


def test_without_scripts_the_pictures_are_shown(browser: Browser, pair: Recording, tmp_path: Path) -> None:
    page, troubles = opened(browser, write_report(pair, tmp_path / "report.html"), "light", java_script_enabled=False)
    assert page.locator("img").count() == 3
    assert all((box := image.bounding_box()) is not None and box["width"] > 100 for image in page.locator("img").all())
    assert troubles == []
    page.close()
