"""environment.yml asks for what pyproject.toml asks for."""

from __future__ import annotations

import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.tree import ROOT

ONLY_BY_PIP = {"mlx", "mlx-lm", "scipy-openblas32"}
"""Not on the conda channels, or not with the build that is needed."""


def _ask(lines: list[str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return {(name, marker): (versions, extras)}."""
    asked = [Requirement(line) for line in lines]
    return {(canonicalize_name(it.name), str(it.marker or "")): (str(it.specifier), ",".join(sorted(it.extras))) for it in asked}


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _environment() -> tuple[list[str], list[str]]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    by_conda = [entry for entry in entries if isinstance(entry, str)]
    (by_pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    return by_conda, by_pip


def test_same_versions() -> None:
    by_conda, by_pip = _environment()
    assert by_pip[-1] == "-e ."
    asked = _ask([line for line in by_conda if line != "pip"] + by_pip[:-1])
    python = asked.pop(("python", ""))
    assert python == (_project()["requires-python"], "")
    assert asked == _ask(_project()["dependencies"])


def test_what_conda_lacks_comes_by_pip() -> None:
    _, by_pip = _environment()
    assert {name for name, _ in _ask(by_pip[:-1])} == ONLY_BY_PIP


def test_pip_itself_is_listed() -> None:
    assert "pip" in _environment()[0]
