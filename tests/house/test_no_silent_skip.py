"""The rule of tests/conftest.py: in CI a skip is a failure."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

RIGHT = """
import pytest
def test_runs(): pass
def test_elsewhere(): pytest.skip("needs macOS")
@pytest.mark.xfail(strict=True)
def test_known(): raise AssertionError
"""

SKIPS = {
    "test_call.py": "def test_x():\n    import pytest; pytest.skip('no reason that counts')\n",
    "test_module.py": "import pytest\npytest.importorskip('no_such_module_at_all')\n",
    "test_mark.py": "import pytest\n@pytest.mark.skip(reason='no reason that counts')\ndef test_x(): pass\n",
}


def _run(folder: Path, *, in_ci: bool) -> tuple[int, set[str]]:
    """Return the exit code and the files that failed."""
    env = {name: value for name, value in os.environ.items() if name != "CI"} | ({"CI": "true"} if in_ci else {})
    env["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-m", "pytest", "-rfE", "--continue-on-collection-errors", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)
    return done.returncode, set(re.findall(r"^(?:FAILED|ERROR) (\w+\.py)", done.stdout, re.MULTILINE))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    for name, code in {"test_right.py": RIGHT, **SKIPS}.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def test_a_skip_fails_in_ci(folder: Path) -> None:
    code, failed = _run(folder, in_ci=True)
    assert code != 0
    assert failed == set(SKIPS)


def test_a_skip_is_a_skip_elsewhere(folder: Path) -> None:
    assert _run(folder, in_ci=False) == (0, set())
