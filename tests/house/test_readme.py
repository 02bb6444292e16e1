"""What README.md says can be typed, opened and set."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest

import kvlab
from kvlab.cli.main import COMMANDS, parser
from tests.house.tree import ROOT, files, text

README = (ROOT / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHELL = [command.strip() for language, block in BLOCKS if language == "sh" for line in block.splitlines() for command in line.split("&&")]
IN_TABLES: list[str] = re.findall(r"`(kvlab [^`]+)`", README)
OURS = sorted({command.removeprefix("uv run ") for command in SHELL + IN_TABLES if re.match(r"(?:uv run )?kvlab ", command)})

HANDED_DOWN = {"KVLAB_PYTHONSTARTUP"}
"""What `kvlab lab` tells its own kernels; no user sets it."""


@pytest.mark.parametrize("command", OURS)
def test_command_can_be_typed(command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])


def test_every_command_is_named() -> None:
    assert set(COMMANDS) == {shlex.split(command)[1] for command in OURS}


@pytest.mark.parametrize("block", [block for language, block in BLOCKS if language == "python"])
def test_python_compiles_and_its_names_exist(block: str) -> None:
    compile(block, "README.md", "exec")
    assert set(re.findall(r"\bkvlab\.(\w+)", block)) <= set(dir(kvlab))


def test_links_lead_somewhere() -> None:
    links: list[str] = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_settings_are_those_that_the_code_reads() -> None:
    code = [path for path in files() if path.suffix == ".py" and path.is_relative_to(ROOT / "kvlab")]
    read = {name for path in [*code, ROOT / "tests" / "browser" / "lab_page.py"] for name in re.findall(r"KVLAB_[A-Z_]+", text(path))}
    assert set(re.findall(r"KVLAB_[A-Z_]+", README)) == read - HANDED_DOWN


def test_every_tier_is_named() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    for marker in settings["markers"]:
        tier = marker.split(":")[0]
        assert f"pytest -m {tier}" in README
        assert f"not {tier}" in " ".join(settings["addopts"])
