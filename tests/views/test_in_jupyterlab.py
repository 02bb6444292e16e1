"""A recording shown in a real JupyterLab: a slider that the keyboard moves, in light and dark, with no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nbformat import v4, write

from tests.browser.lab_page import LabPage, chromium, lab_server

if TYPE_CHECKING:
    from kvlab.recording import Recording

CELLS = ("import kvlab\n%load_ext kvlab", 'recording = kvlab.load("run.kvrec")\nrecording')

CHANGED = "before => document.querySelector('.vega-embed svg.marks')?.textContent !== before"


@pytest.fixture
def lab(fifteen: Recording, tmp_path: Path) -> Iterator[LabPage]:
    folder, private = tmp_path / "notebooks", tmp_path / "lab"
    folder.mkdir()
    private.mkdir()
    fifteen.save(folder / "run.kvrec")
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    write(notebook, folder / "show.ipynb")
    with lab_server(folder, private) as server, chromium() as browser:
        page = LabPage(browser.new_page(viewport={"width": 1400, "height": 1600}))
        page.open(server.url("show.ipynb"))
        yield page


def test_the_keyboard_moves_bytes_and_trie_through_time(lab: LabPage) -> None:
    assert lab.run_all() == []
    assert [it["drawn"] for it in lab.pictures()] == [["svg"]]
    chart = lab.page.locator(".vega-embed svg.marks")
    words = lab.page.locator(".widget-label").last
    assert words.inner_text().startswith("request 15, close")
    before = chart.text_content() or ""
    assert "#45" in before

    lab.page.locator(".noUi-handle").focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowLeft")
    lab.page.wait_for_function("() => [...document.querySelectorAll('.widget-label')].some(it => it.textContent.startsWith('request 14, close'))")
    lab.page.wait_for_function(CHANGED, arg=before)
    assert "#45" not in (chart.text_content() or "")
    assert lab.external == []
    assert lab.errors == []
