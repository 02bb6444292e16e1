"""What lies in the repository: short files, small files, no names of machines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, files, text

TOP = {".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "data", "environment.yml", "kvlab", "notebooks", "pyproject.toml", "tests"}
MOST_LINES = 500
MOST_BYTES = 1_000_000
MOST_BYTES_OF_A_TRAINED_MODEL = 2_000_000
"""Of the weights of a model that kvlab trained itself: fewer than a million numbers in float16."""

HOSTS = [
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("npmjs", "org"),
    ("npmjs", "com"),
    ("yarnpkg", "com"),
    ("debian", "org"),
    ("anaconda", "org"),
    ("anaconda", "com"),
    ("golang", "org"),
    ("crates", "io"),
]
"""Registries, in pieces so that this file does not name them."""

NAMES_A_HOST = re.compile("|".join(re.escape(".".join(parts)) for parts in HOSTS))
NAMES_A_PLACE = re.compile(r"(?<![\w.*}])/(?:work|root|opt/wheels|opt/pypi)/|(?<![\w.])/(?:home|Users)/(?!you\b)\w+")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _lines_that_match(pattern: re.Pattern[str]) -> list[str]:
    this = Path(__file__)
    return [
        f"{_name(path)}:{number}: {line.strip()[:120]}"
        for path in files()
        if path != this
        for number, line in enumerate(text(path).splitlines(), 1)
        if pattern.search(line)
    ]


def test_top_level_holds_only_the_names_agreed_on() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in files()} <= TOP


def test_no_file_is_long() -> None:
    code = [path for path in files() if path.suffix in {".py", ".js", ".css"}]
    assert [_name(path) for path in code if len(text(path).splitlines()) > MOST_LINES] == []


def _most_bytes(path: Path) -> int:
    return MOST_BYTES_OF_A_TRAINED_MODEL if path.match("data/tiny-*/model.safetensors") else MOST_BYTES


def test_no_file_is_big() -> None:
    assert [_name(path) for path in files() if path.stat().st_size > _most_bytes(path)] == []


def test_no_registry_is_named() -> None:
    assert _lines_that_match(NAMES_A_HOST) == []


def test_no_machine_path() -> None:
    assert _lines_that_match(NAMES_A_PLACE) == []


def test_only_files_that_import_untyped_libraries_relax_the_type_check() -> None:
    relaxed = [path for path in files() if path.suffix == ".py" and re.search(r"^# pyright: (?:standard|basic)", text(path), re.MULTILINE)]
    untyped = re.compile(r"^\s*(?:import|from) (?:mlx|mlx_lm|transformers|altair|anywidget|gguf|ipywidgets|IPython|tokenizers)\b", re.MULTILINE)
    assert [_name(path) for path in relaxed if not untyped.search(text(path))] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see " + "/work" + "/main", True),
        ("/root" + "/x", True),
        ("/home" + "/alice/x", True),
        ("network/work" + "/x", False),
        ("a path such as /home/you/models", False),
    ],
)
def test_the_path_rule_itself(line: str, *, found: bool) -> None:
    assert bool(NAMES_A_PLACE.search(line)) == found
