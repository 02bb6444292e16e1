"""The rule of tests/conftest.py: in CI a skip is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

TESTS = """
import pytest
def test_runs(): pass
def test_elsewhere(): pytest.skip("needs macOS")
@pytest.mark.xfail(strict=True)
def test_known(): raise AssertionError
"""

SKIPS = {
    "a test": "def test_x():\n    import pytest; pytest.skip('no reason that counts')\n",
    "a module": "import pytest\npytest.importorskip('no_such_module_at_all')\n",
    "a mark": "import pytest\n@pytest.mark.skip(reason='no reason that counts')\ndef test_x(): pass\n",
}


def _run(folder: Path, *, in_ci: bool) -> int:
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    env = {name: value for name, value in os.environ.items() if name != "CI"} | ({"CI": "true"} if in_ci else {})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True).returncode


@pytest.mark.parametrize("what", SKIPS)
def test_a_skip_fails_in_ci_only(tmp_path: Path, what: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_skips.py").write_text(SKIPS[what])
    assert _run(tmp_path, in_ci=False) == 0
    assert _run(tmp_path, in_ci=True) != 0


def test_other_platforms_and_known_failures_pass_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    assert _run(tmp_path, in_ci=True) == 0
