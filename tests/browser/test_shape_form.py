"""In JupyterLab a reader types a model's name or drops its config.json, and the card appears."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

from tests.browser.lab_page import ROOT, LabPage, chromium, lab_server

NAME = "11_predict_any_model.ipynb"


def test_a_name_is_typed_and_a_config_is_dropped(tmp_path: Path) -> None:
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    shutil.copy(ROOT / "notebooks" / NAME, notebooks)
    (tmp_path / "wrong.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 10**7}))
    with lab_server(notebooks, tmp_path / "lab") as server, chromium() as browser, closing(browser.new_page(viewport={"width": 1400, "height": 1600})) as page:
        lab = LabPage(page)
        lab.open(server.url(NAME))
        assert lab.run_all() == []
        asked = page.get_by_placeholder("a name, a config.json or a folder")
        asked.fill("gemma4-31b")
        asked.press("Enter")
        page.get_by_text("Twin of gemma4-31b").wait_for()
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="config.json").click()
        chooser.value.set_files(tmp_path / "wrong.json")
        page.get_by_text("wrong.json: num_hidden_layers is 10000000").wait_for()
        assert page.get_by_text("Twin of gemma4-31b").count() == 0
        assert (lab.external, lab.errors) == ([], [])
