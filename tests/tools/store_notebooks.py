"""Run notebooks and store them as they are shared: with outputs of text and PNG only.

    python -m tests.tools.store_notebooks notebooks/00_first_run.ipynb

Stored outputs hold no widget state, no HTML, no progress bars and no times; a notebook whose cell fails is not stored.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

STORED = ("text/plain", "image/png")
"""What GitHub, nbviewer and JupyterLab without a kernel can show."""

WIDGET = "application/vnd.jupyter.widget-view+json"
CELL_WITHIN_S = 600

# nbformat has no types
_FORMAT: Any = nbformat


def main(paths: Sequence[str] | None = None) -> int:
    """Run and store the notebooks named on the command line; return the exit code."""
    # the kernel of this interpreter, not one that a user registered
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    for name in sys.argv[1:] if paths is None else paths:
        path = Path(name)
        notebook: Any = _FORMAT.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(notebook, timeout=CELL_WITHIN_S, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        reduce(notebook)
        _FORMAT.write(notebook, path)
        print(f"stored {path.name}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def reduce(notebook: Any) -> None:
    """Keep of a notebook's outputs what may be stored; of its metadata only which kernel it needs."""
    notebook.metadata = _FORMAT.from_dict(
        {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    )
    for cell in notebook.cells:
        cell.metadata = _FORMAT.from_dict({})
        if cell.cell_type == "code":
            kept = [_reduced(output) for output in cell.outputs]
            cell.outputs = [output for output in kept if output is not None]


def _reduced(output: Any) -> Any | None:
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    data = output.data
    # a widget without a picture, such as a progress bar, says nothing once its kernel is gone
    if WIDGET in data and "image/png" not in data:
        return None
    output.data = _FORMAT.from_dict({kind: data[kind] for kind in STORED if kind in data})
    output.metadata = _FORMAT.from_dict({})
    return output if output.data else None


if __name__ == "__main__":
    sys.exit(main())
