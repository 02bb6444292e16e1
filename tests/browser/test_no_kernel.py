"""A saved notebook read with no kernel: the page made of its JSON alone shows the picture and the text of every view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser

from tests.browser.lab_page import ROOT, chromium

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

DRAWN = "() => [...document.images].map(it => it.complete && it.naturalWidth > 20)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as it:
        yield it


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_pictures_and_texts_stand_there(path: Path, browser: Browser) -> None:
    notebook: Any = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert outputs
    assert all(output.data.get("text/plain", "").strip() for output in pictures), "who reads the JSON alone finds each picture's text"
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_content(html)
    assert page.evaluate(DRAWN) == [True] * len(pictures)
    assert [url for url in asked if not url.startswith(("data:", "about:"))] == []
    page.close()
