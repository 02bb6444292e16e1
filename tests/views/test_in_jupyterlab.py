"""The dashboard in a real JupyterLab, offline, by keyboard alone: step a live model to a split, go back, choose a node and read it in Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from nbformat import v4, write

from tests.browser.lab_page import LabPage, chromium, lab_server

if TYPE_CHECKING:
    from kvlab.recording import Recording

LIVE = (
    "import kvlab\n%load_ext kvlab\nlab = kvlab.open('smollm2')\nfor event in lab.step('What is the capital of France?'):\n    pass",
    "view = kvlab.stepper(lab.step('Name one colour.'), on=lab)\nview",
    "print('python reads', view.selected, view.at, [event.kind for event in view.events if event.seq == view.at])",
    "meter = lab._model.meter\nbefore = meter.read().active\nview.close()\nprint('released', before - meter.read().active)",
)

RECORDED = ("import kvlab\n%load_ext kvlab\nrecording = kvlab.load('run.kvrec')", "recording")

BANDS = (
    "import kvlab\n%load_ext kvlab\nview = kvlab.stepper(kvlab.load('run.kvrec'))\nview",
    "print('python reads', view.selected, view.band)",
)

SEQ = "() => Number(document.querySelector('.kvlab').dataset.seq)"
SENTENCE = "words => document.querySelector('.kv-sentence').textContent.includes(words)"
SCREENSHOTS = "KVLAB_SCREENSHOTS"
"""Names a folder in which screenshots are kept; without it they lie in the test's own folder."""


def notebook(folder: Path, name: str, cells: tuple[str, ...]) -> None:
    made = v4.new_notebook(cells=[v4.new_code_cell(source) for source in cells])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    write(made, folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def lab(fifteen: Recording, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder, private = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("lab")
    fifteen.save(folder / "run.kvrec")
    notebook(folder, "live", LIVE)
    notebook(folder, "recorded", RECORDED)
    notebook(folder, "bands", BANDS)
    with lab_server(folder, private) as server, chromium() as browser:

        def opened(name: str) -> LabPage:
            page = LabPage(browser.new_page(viewport={"width": 1400, "height": 1500}))
            page.open(server.url(f"{name}.ipynb"))
            return page

        yield opened


def wait_for(page: Any, words: str) -> None:
    page.wait_for_function(SENTENCE, arg=words, timeout=60_000)


def drawn_nodes(page: Any) -> set[str]:
    return set(page.locator(".kv-node:not(.kv-leaving)").evaluate_all("rows => rows.map(row => row.dataset.node)"))


def step_to_a_split_and_back(page: Any, before: set[str]) -> tuple[str, int]:
    """Press next until a node is split; return the new node and when it came. Ends at the beginning again."""
    # from here on the keyboard alone
    page.locator(".kv-slider").focus()
    page.keyboard.press(".")
    wait_for(page, "Request 2 begins")
    bytes_before = page.locator(".kv-bytes").get_attribute("aria-label")
    for _ in range(400):
        seq = page.evaluate(SEQ)
        page.keyboard.press(".")
        page.wait_for_function(f"before => ({SEQ})() > before", arg=seq, timeout=60_000)
        if page.locator(".kv-sentence").get_attribute("data-kind") == "node_split":
            break
    wait_for(page, "Split: node #")
    after = drawn_nodes(page)
    (head,) = after - before
    assert f"the new node #{head} takes" in page.locator(".kv-sentence").inner_text()
    assert f"#{head}" in page.locator(".kv-outline").inner_text()
    split_at = page.evaluate(SEQ)

    # on to the end of the request: spans and bytes change
    page.keyboard.press("r")
    wait_for(page, "Request 2 is over")
    assert page.locator(".kv-bytes").get_attribute("aria-label") != bytes_before
    assert page.locator(".kv-span").count() >= 2
    assert "live buffer" in (page.locator(".kv-spans").get_attribute("aria-label") or "")

    # back in the page, with the slider's own keys: the node is not there any more
    page.keyboard.press("Home")
    page.wait_for_function(f"() => ({SEQ})() < 0")
    # the first of the events that say what stood there is the root's
    assert head not in drawn_nodes(page)
    return head, split_at


@pytest.mark.usefixtures("embedded_model")
def test_a_live_model_is_stepped_to_a_split_and_back_by_keyboard(lab: Any, tmp_path: Path) -> None:
    opened: LabPage = lab("live")
    page = opened.page
    assert opened.run_cells(0, 1) == []
    page.locator(".kvlab").wait_for()
    page.wait_for_function(f"() => ({SEQ})() < 0")
    before = drawn_nodes(page)
    assert "0" in before

    head, split_at = step_to_a_split_and_back(page, before)

    # to the moment after the split, into the tree, and choose the new node
    page.keyboard.press("End")
    page.wait_for_function(f"split => ({SEQ})() > split", arg=split_at)
    page.keyboard.press("t")
    page.keyboard.press("Home")
    for _ in range(len(drawn_nodes(page))):
        if page.locator(".kv-focused").get_attribute("data-node") == head:
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("node => document.querySelector('.kv-node.kv-selected')?.dataset.node === node", arg=head)
    page.wait_for_function("node => document.querySelector('.kv-details').textContent.startsWith(`node #${node} `)", arg=head)
    # what the page tells at rest has reached the kernel when the next cell runs: messages keep their order
    page.wait_for_timeout(400)
    assert opened.run_cells(2) == []
    assert f"python reads {head} " in opened.cell(2).inner_text()
    assert "request_closed" in opened.cell(2).inner_text()

    folder = Path(os.environ.get(SCREENSHOTS, tmp_path))
    grounds = set()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        opened.theme(theme)
        page.locator(".kvlab").screenshot(path=folder / f"stepper-{theme.split()[-1].lower()}.png")
        grounds.add(page.evaluate("() => getComputedStyle(document.querySelector('.kvlab')).backgroundColor"))
    assert len(grounds) == 2
    assert len(list(folder.glob("stepper-*.png"))) == 2

    # the dashboard held no array: closing it gives the allocator nothing back
    assert opened.run_cells(3) == []
    assert "released 0" in opened.cell(3).inner_text()
    assert opened.external == []
    assert opened.errors == []
    page.close()


def test_a_recording_moves_without_the_kernel(lab: Any) -> None:
    opened: LabPage = lab("recorded")
    page = opened.page
    assert opened.run_all() == []
    page.locator(".kvlab").wait_for()
    assert "#45" in page.locator(".kv-outline").inner_text()
    page.locator(".kv-slider").focus()
    last = page.evaluate(SEQ)
    # at rest: what opening it sent has been said
    page.wait_for_timeout(600)
    before = len(opened.said["sent"])
    for key in ("ArrowLeft", "ArrowLeft", ","):
        page.keyboard.press(key)
    page.wait_for_function(f"last => ({SEQ})() === last - 3", arg=last)
    page.keyboard.press("Home")
    page.wait_for_function(f"() => ({SEQ})() === 0")
    assert "#45" not in page.locator(".kv-outline").inner_text()
    page.wait_for_timeout(600)
    # only where it came to rest is told to Python, and nothing of the data is sent again
    told = opened.said["sent"][before:]
    assert 1 <= len(told) <= 2
    assert all(len(text) < 2000 for text in told)
    assert not any('"_data"' in text for text in opened.said["got"])
    assert opened.external == []
    assert opened.errors == []
    page.close()


def test_with_no_kernel_text_and_picture_are_there(lab: Any) -> None:
    opened: LabPage = lab("recorded")
    assert opened.run_all() == []
    opened.page.locator(".kvlab").wait_for()
    outputs = opened.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.outputs.toJSON()")
    (data,) = [output["data"] for output in outputs]
    assert {"text/plain", "image/png", "application/vnd.jupyter.widget-view+json"} <= set(data)
    assert data["text/plain"].startswith("Recording\n")
    opened.page.close()


def test_a_band_of_bytes_is_selected_by_keyboard_and_read_in_python(lab: Any, fifteen: Recording) -> None:
    opened: LabPage = lab("bands")
    page = opened.page
    assert opened.run_cells(0) == []
    page.locator(".kvlab").wait_for()
    page.locator(".kv-slider").focus()
    for key in ("End", "y", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    # the largest are the first nodes of the ten last requests, 1.5 MiB each; the oldest of them is chosen
    node = 3 * 6 - 2
    page.wait_for_function("node => document.querySelector('.kv-node.kv-selected')?.dataset.node === node", arg=str(node))
    page.wait_for_timeout(400)
    assert opened.run_cells(1) == []
    owned = fifteen.events.filter(kind="snapshot_owned", snapshot=node).item(0, "seq")
    told = opened.cell(1).inner_text()
    assert f"python reads {node} " in told
    for words in ("'owner': 'snapshots'", f"'node': {node}", f"'event': {owned}", "'request': 6", "'call_site': None", "'bytes': 20971520"):
        assert words in told
    assert opened.external == []
    assert opened.errors == []
    page.close()
