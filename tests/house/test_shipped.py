"""data/ and notebooks/ are found in a checkout and in a wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kvlab import shipped
from kvlab.errors import NotAvailable
from tests.house.tree import ROOT, files

LOOK = """
import json
from kvlab import shipped
def names(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
print(json.dumps([shipped.__file__, names(shipped.data()), names(shipped.notebooks())]))
"""


def _shipped_from(folder: str) -> list[str]:
    return sorted(path.relative_to(ROOT / folder).as_posix() for path in files() if path.is_relative_to(ROOT / folder))


def test_checkout() -> None:
    assert shipped.data() == ROOT / "data"
    assert shipped.notebooks() == ROOT / "notebooks"


def test_unknown_name() -> None:
    with pytest.raises(NotAvailable, match=r"data/no\.json"):
        shipped.data("no.json")


def test_wheel(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=tmp_path,
        env=dict(os.environ, PYTHONPATH=str(tmp_path / "site")),
        check=True,
        capture_output=True,
        text=True,
    )
    where, data, notebooks = json.loads(done.stdout)
    assert Path(where).is_relative_to(tmp_path)
    assert data == _shipped_from("data")
    assert notebooks == _shipped_from("notebooks")
