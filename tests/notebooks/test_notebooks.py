"""Every notebook runs top to bottom with no network, and what is stored in it reads without a kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.house.tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BY_NAME = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)

STORED_TYPES = {"text/plain", "image/png"}
"""What GitHub and a JupyterLab without a kernel show, and what carries no code."""

MOST_BYTES = 300_000
CELL_WITHIN_S = 600

# the kernel imports this at its start: whatever it runs may talk to this machine only
NO_NETWORK = """
import socket
connect = socket.socket.connect
def only_here(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"no network in this test: {address}")
    return connect(self, address)
socket.socket.connect = only_here
"""


def _code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _outputs(notebook: Any) -> list[Any]:
    return [output for cell in _code_cells(notebook) for output in cell.outputs]


# in every run this one is run in JupyterLab (tests/browser)
IN_JUPYTERLAB = "20_step_through_a_request.ipynb"


@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name, marks=[pytest.mark.full] if path.name == IN_JUPYTERLAB else []) for path in NOTEBOOKS])
def test_runs_with_no_network(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])))
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=CELL_WITHIN_S, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert [output.evalue for output in _outputs(notebook) if output.output_type == "error"] == []


@BY_NAME
def test_stored_cells_were_run_once_in_order(path: Path) -> None:
    notebook: Any = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    cells = _code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@BY_NAME
def test_stored_outputs_are_text_and_pictures(path: Path) -> None:
    notebook: Any = nbformat.read(path, as_version=4)
    outputs = _outputs(notebook)
    assert outputs, "a notebook is stored with its outputs"
    kinds = {output.output_type if output.output_type != "stream" else output.name for output in outputs}
    assert kinds <= {"stdout", "display_data", "execute_result"}
    assert {kind for output in outputs for kind in output.get("data", {})} <= STORED_TYPES
    assert "widgets" not in notebook.metadata


@BY_NAME
def test_stored_file_is_small_and_names_no_place(path: Path) -> None:
    text = path.read_text()
    assert len(text.encode()) < MOST_BYTES
    outputs = _outputs(nbformat.reads(text, as_version=4))
    texts = "\n".join(str(output.get("text", "")) + str(output.get("data", {}).get("text/plain", "")) for output in outputs)
    assert re.findall(r"(?<![\w.])/(?:home|Users|root|tmp|work|var|opt|private)/\S*", texts) == []
    assert re.findall(r" at 0x[0-9a-f]{6,}", texts) == [], "an address differs at every run"
