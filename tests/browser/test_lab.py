"""Every notebook runs in JupyterLab as a reader runs it: top to bottom, offline, with its pictures drawn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from tests.browser.lab_page import ROOT, LabPage, LabServer, chromium, lab_server

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

IN_EVERY_RUN = ("20_step_through_a_request.ipynb",)
"""The other notebooks run without a page in tests/notebooks, and in JupyterLab with `pytest -m full`."""

IMPORTS = """\
import base64, io
import altair as alt, anywidget, ipywidgets, polars as pl, traitlets
from IPython.display import Javascript, display
"""

LIVE_CHART_SAVED_AS_A_PICTURE = """\
alt.JupyterChart.enable_offline()
spec = alt.Chart(pl.DataFrame({"x": [1, 2, 3], "y": [3, 1, 2]})).mark_bar().encode(x="x:O", y="y:Q")

class Both:
    def _repr_mimebundle_(self, include=None, exclude=None):
        png = io.BytesIO()
        spec.save(png, format="png")
        data, _ = alt.JupyterChart(spec)._repr_mimebundle_()
        return {**data, "image/png": base64.b64encode(png.getvalue()).decode()}

Both()
"""

WIDGET_THAT_TALKS_TO_PYTHON = """\
class Counter(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
      const button = document.createElement("button");
      const show = () => { button.textContent = `n=${model.get("n")}`; };
      button.className = "counter";
      button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
      model.on("change:n", show);
      show();
      el.append(button);
    } }
    '''
    n = traitlets.Int(0).tag(sync=True)

counter, said = Counter(), ipywidgets.Label("Python saw 0")
counter.observe(lambda change: setattr(said, "value", f"Python saw {change.new}"), "n")
ipywidgets.VBox([counter, said])
"""

CHART_FROM_ELSEWHERE = """\
alt.renderers.enable("html")
alt.Chart(pl.DataFrame({"x": [1]})).mark_bar().encode(x="x:O")
"""

MADE_HERE = {
    "good": [IMPORTS, LIVE_CHART_SAVED_AS_A_PICTURE, WIDGET_THAT_TALKS_TO_PYTHON],
    "bad": [
        IMPORTS,
        CHART_FROM_ELSEWHERE,
        "display({'image/png': 'AAAA'}, raw=True)",
        "display(Javascript('console.error(\"said by the test\")'))",
        "1 / 0",
        "never = True",
    ],
}
"""The cells of two small notebooks: one that is right, and one in which everything is wrong that a test must notice."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # no wider than this file: while it is open, no test may run an event loop
    with chromium() as it:
        yield it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the notebooks, since JupyterLab saves what it runs."""
    folder = tmp_path_factory.mktemp("notebooks")
    for path in NOTEBOOKS:
        shutil.copy(path, folder)
    for name, cells in MADE_HERE.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, folder / f"{name}.ipynb")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with lab_server(folder, tmp_path_factory.mktemp("lab")) as it:
        yield it


@pytest.fixture
def lab(browser: Browser) -> Iterator[LabPage]:
    with closing(browser.new_page(viewport={"width": 1400, "height": 1600})) as page:
        yield LabPage(page)


@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize("name", [pytest.param(path.name, marks=[] if path.name in IN_EVERY_RUN else pytest.mark.full) for path in NOTEBOOKS])
def test_notebook_runs_offline_with_its_pictures_drawn(server: LabServer, lab: LabPage, name: str) -> None:
    lab.open(server.url(name))
    assert lab.run_all() == []
    pictures = lab.pictures()
    assert [it for it in pictures if not it["drawn"]] == []
    assert pictures, "a notebook shows at least one picture"
    assert lab.external == []
    assert lab.errors == []


def test_the_page_draws_and_answers(server: LabServer, lab: LabPage) -> None:
    lab.open(server.url("good.ipynb"))
    assert lab.run_all() == []
    assert [(it["cell"], it["drawn"]) for it in lab.pictures()] == [(1, ["svg"])]
    lab.page.locator("button.counter").click()
    lab.page.get_by_text("Python saw 1").wait_for()
    assert lab.page.locator("button.counter").inner_text() == "n=1"
    assert lab.external == []
    assert lab.errors == []


def test_the_page_notices_what_is_wrong(server: LabServer, lab: LabPage) -> None:
    lab.open(server.url("bad.ipynb"))
    assert lab.run_all() == ["cell 4: ZeroDivisionError: division by zero"]
    assert [(it["cell"], it["drawn"]) for it in lab.pictures(within_s=1)] == [(2, [])]
    assert any("vega" in address for address in lab.external)
    assert any("said by the test" in line for line in lab.errors)
