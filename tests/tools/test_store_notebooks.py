"""What a stored notebook keeps of its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import v4

from tests.tools.store_notebooks import WIDGET, main, reduce


def notebook(*outputs: Any) -> Any:
    cell = v4.new_code_cell("1", outputs=list(outputs), execution_count=1, metadata={"execution": {"iopub.execute_input": "2026"}})
    return v4.new_notebook(cells=[v4.new_markdown_cell("words"), cell], metadata={"widgets": {}, "language_info": {"name": "python", "version": "3.11.7"}})


def shown(**data: Any) -> Any:
    return v4.new_output("display_data", {kind.replace("_", "/", 1): value for kind, value in data.items()}, metadata={"image/png": {"width": 1}})


def test_text_and_pictures_stay_and_nothing_else() -> None:
    made = notebook(
        shown(text_plain="words", image_png="AAAA", text_html="<b>"),
        v4.new_output("stream", name="stdout", text="said"),
        v4.new_output("stream", name="stderr", text="warned"),
        v4.new_output("display_data", {"text/html": "<b>"}),
    )
    reduce(made)
    first, second = made.cells[1].outputs
    assert dict(first.data) == {"text/plain": "words", "image/png": "AAAA"}
    assert first.metadata == {}
    assert second.text == "said"


def test_a_widget_stays_as_its_picture_or_not_at_all() -> None:
    made = notebook(
        v4.new_output("display_data", {WIDGET: {"model_id": "1"}, "text/plain": "  0%| 0/15 [00:00<?]"}),
        v4.new_output("display_data", {WIDGET: {"model_id": "2"}, "text/plain": "card", "image/png": "AAAA"}),
    )
    reduce(made)
    assert [dict(output.data) for output in made.cells[1].outputs] == [{"text/plain": "card", "image/png": "AAAA"}]


def test_no_times_and_no_versions() -> None:
    made = notebook()
    reduce(made)
    nbformat.validate(made)
    assert set(made.metadata) == {"kernelspec", "language_info"}
    assert made.metadata.language_info == {"name": "python"}
    assert made.cells[1].metadata == {}


def test_a_notebook_that_fails_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    path = tmp_path / "fails.ipynb"
    made = notebook()
    made.cells[1].source = "1 / 0"
    nbformat.write(made, path)
    before = path.read_text()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        main([str(path)])
    assert path.read_text() == before
