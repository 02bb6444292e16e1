"""Lint, format, types and floors: the four commands that everyone runs, as tests."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SCRIPTS = Path(sysconfig.get_path("scripts"))

COMMANDS = {
    "ruff check": [sys.executable, "-m", "ruff", "check", "--output-format=concise", "."],
    "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
    "lint-imports": [str(SCRIPTS / "lint-imports"), "--no-cache", "--no-logo"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_finds_nothing(name: str) -> None:
    done = subprocess.run(COMMANDS[name], cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{name}\n{done.stdout}"
