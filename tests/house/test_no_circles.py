"""No module of kvlab imports itself by way of others, types included; which floor may import which is in pyproject.toml (import-linter)."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

FOR_TYPES = {"kvlab.importers.ollama_partial": {"kvlab.importers.ollama_log"}}
"""Imports of a type alone that lead back."""


def test_the_import_graph_has_no_circle() -> None:
    graph = grimp.build_graph("kvlab", cache_dir=None)
    try:
        TopologicalSorter({module: graph.find_modules_directly_imported_by(module) - FOR_TYPES.get(module, set()) for module in graph.modules}).prepare()
    except CycleError as error:
        pytest.fail(" is imported by ".join(error.args[1]))
