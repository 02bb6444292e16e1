"""Every public name has an example in its docstring, and it prints what it says."""

from __future__ import annotations

import doctest
import importlib
import os
from pathlib import Path
from typing import Any

import pytest

import kvlab

NAMES = [f"kvlab.{name}" for name in (*kvlab.__all__, "open") if name != "workloads"] + [f"kvlab.workloads.{name}" for name in kvlab.workloads.__all__]
NO_OBJECTS = {"kvlab.workloads.GREEDY"}
"""Values, which have no docstring of their own."""


def found(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NO_OBJECTS])
def test_an_example_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = found(name)
    examples = [one for one in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}) if one.examples]
    assert examples, f"{name} has no example"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for one in examples:
        runner.run(one)
    assert runner.failures == 0
