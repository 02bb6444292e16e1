"""Two recordings on one axis: as text, as a chart, in a page, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page

import kvlab
from kvlab.cli.main import main
from kvlab.events import BytesRead, FrontierMoved, Matched, NodeBorn, NodeSplit, RequestBegan
from kvlab.recording import Recording
from kvlab.views import live
from kvlab.views.compare.aligned import aligned_rows, aligned_text
from kvlab.views.compare.comparison import Comparison, compare
from kvlab.views.compare.widget import page_data, view
from kvlab.views.dashboard import page as code
from tests.browser.lab_page import chromium
from tests.views.charts import PNG
from tests.views.conftest import Script

if TYPE_CHECKING:
    from pathlib import Path

MIB = 2**20


def side(*, splits: bool) -> Recording:
    """One request of 10 tokens; then one that shares 4, which splits the node or hangs a whole path beside it."""
    script = Script()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(label="one", tokens=10), Matched(tokens=10, left=10), NodeBorn(node=1, parent=0, end=10), FrontierMoved(node=1))
    script.read("close", snapshots=MIB)
    script.log.request = 2
    script.add(RequestBegan(label="two", tokens=9), Matched(tokens=9, matched=4, cached=4 if splits else 0, left=5 if splits else 9))
    if splits:
        script.add(NodeSplit(node=1, head=2, start=0, end=4), NodeBorn(node=3, parent=2, start=4, end=9))
    else:
        script.add(NodeBorn(node=2, parent=0, start=0, end=9))
    script.read("close", snapshots=2 * MIB if splits else 5 * MIB)
    return script.recording()


@pytest.fixture(scope="module")
def both() -> Comparison:
    return compare(side(splits=True), side(splits=False))


@pytest.fixture(scope="module")
def two_orders() -> Comparison:
    twin = kvlab.twin("smollm2")
    runs = [twin.run("unrelated:12", policy=twin.policy.replace(budget_bytes=12 * MIB, evict_order=order), progress=False) for order in ("lru", "cost")]
    return compare(*runs)


def test_by_request_and_owner(both: Comparison) -> None:
    table = both.requests
    assert table.get_column("request").to_list() == [1, 2]
    assert table.get_column("cached_difference").to_list() == [0, -4]
    assert table.get_column("snapshots_difference").to_list() == [0, 3 * MIB]
    assert both.last == 2


def test_common_nodes_are_one_row(both: Comparison) -> None:
    assert [(row.side, row.one.start, row.one.end) for row in both.tries(1)] == [("both", 0, 0), ("both", 0, 10)]
    # A cut the edge at 4; what both hold below it goes on from there in A, and begins at the root in B
    assert [(row.side, row.depth, row.one.start, row.one.end) for row in both.tries(2)] == [
        ("both", 0, 0, 0),
        ("only A", 1, 0, 4),
        ("only B", 2, 0, 10),
        ("only A", 2, 4, 10),
        ("only B", 2, 0, 9),
        ("only A", 2, 4, 9),
    ]
    assert "1 both, 3 only A, 2 only B" in aligned_text(both.tries(2))


def test_every_node_has_one_row(two_orders: Comparison) -> None:
    for request in range(1, two_orders.last + 1):
        moments = two_orders.moments(request)
        assert moments is not None
        rows = aligned_rows(*moments, two_orders.prefixes)
        for place, moment in enumerate(moments):
            nodes = [one.node for row in rows if (one := (row.a, row.b)[place]) is not None]
            assert sorted(nodes) == sorted(moment.nodes.get_column("node"))


def test_a_recording_beside_itself_does_not_differ(fifteen: Recording) -> None:
    same = compare(fifteen, fifteen)
    assert {row.side for row in same.tries(same.last)} == {"both"}
    assert same.policy == {}
    assert same.requests.select("counted_difference", "live_difference").sum().row(0) == (0, 0)


def test_text_names_both_policies(two_orders: Comparison) -> None:
    text = two_orders.text()
    assert "policy evict_order: A lru, B cost" in text
    assert "bytes at each request's end, in " in text
    assert "tries side by side" in text


def test_budgets_have_their_unit(fifteen: Recording) -> None:
    made = compare(fifteen, Script(budget=8 * 2**30).recording())
    assert made.policy_lines == ["policy budget_bytes: A 20.00 MiB, B 8.00 GiB"]


def test_it_shows_itself(two_orders: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = two_orders._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert bundle["image/png"].startswith(PNG)
    monkeypatch.setattr(live.LIVE, "on", value=True)
    assert live.WIDGET in two_orders._repr_mimebundle_()


def test_one_that_got_nowhere() -> None:
    nothing = Script()
    nothing.add(BytesRead(phase="load"))
    made = compare(nothing.recording(), side(splits=True))
    assert made.last == 0
    assert made.tries(1) == []
    assert "side by side" not in made.text()
    assert "not drawn" not in made._repr_mimebundle_()["text/plain"]


def test_the_command(both: Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, recording in (("a", both.a), ("b", both.b)):
        recording.save(tmp_path / f"{name}.kvrec")
    assert main(["compare", str(tmp_path / "a.kvrec"), str(tmp_path / "b.kvrec")]) == 0
    assert "only A" in capsys.readouterr().out
    assert main(["compare", str(tmp_path / "a.kvrec"), str(tmp_path / "b.kvrec"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["nodes_at_the_end"] == {"request": 2, "both": 1, "only_a": 3, "only_b": 2}
    assert told["requests"][1]["snapshots_difference"] == 3 * MIB
    assert main(["compare", str(tmp_path / "a.kvrec"), str(tmp_path / "none.kvrec")]) == 3


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 1100, "height": 900})


def test_in_a_page_by_keyboard(page: Page, two_orders: Comparison) -> None:
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    data: Any = json.loads(json.dumps(page_data(two_orders)))
    page.set_content(f"<style>{code.style()}</style><div id=root></div><script>{code.joined('core', 'compare')}</script>")
    page.evaluate("data => { mountCompare(document.getElementById('root'), data); }", data)

    def drawn() -> list[str]:
        return page.locator(".kv-pair").evaluate_all("rows => rows.map(row => row.dataset.side)")

    assert drawn() == [row.side for row in two_orders.tries(12)]
    # no label of the axis is cut, however long
    data["differences"]["counted"][3] = -1020 * 1024 - 389
    page.evaluate("data => { mountCompare(document.getElementById('root'), data); }", data)
    lefts = page.locator("svg.kv-bytes text").evaluate_all("all => all.map(one => one.getBBox().x)")
    assert min(lefts) >= 0
    page.locator(".kv-slider").focus()
    for request in range(11, 0, -1):
        page.keyboard.press(",")
        assert page.locator("#root").get_attribute("data-request") == str(request)
        assert drawn() == [row.side for row in two_orders.tries(request)]
    page.keyboard.press("End")
    page.locator(".kv-compared").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".kv-pair.kv-selected").count() == 1
    assert troubles == []
    assert view(two_orders).request == 12


def test_very_different_sizes_show_both() -> None:
    """Beside 8 GiB and more of the one, the few KiB of the other are no 0.00."""
    big, small = (kvlab.twin(name).run("unrelated:30", progress=False) for name in ("qwen3.8-27b", "tiny-hybrid"))
    text = compare(big, small).text()
    header = next(line for line in text.splitlines() if "counted A" in line)
    rows = [line for line in text.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(rows) == 30
    assert not any(" 0.00" in line for line in rows), header
    assert "in MiB" in text or "in KiB" in text
