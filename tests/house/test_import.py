"""`import kvlab` is light and changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.house.tree import ROOT

LOOK = """
import json, logging, os, signal, sys, warnings
def state():
    return [dict(os.environ), [str(f) for f in warnings.filters], logging.root.level, len(logging.root.handlers), str(signal.getsignal(signal.SIGINT))]
before = state()
import kvlab
kvlab.__all__
print(json.dumps({"modules": sorted(sys.modules), "changed": state() != before}))
"""

HEAVY = {"altair", "anywidget", "IPython", "ipywidgets", "jupyterlab", "mlx", "mlx_lm", "transformers", "vl_convert"}


def test_import_loads_nothing_heavy_and_changes_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    assert HEAVY & set(seen["modules"]) == set()
    assert not seen["changed"]


NAMES = """
import importlib, pkgutil, types
import kvlab
for found in pkgutil.iter_modules(kvlab.__path__, "kvlab."):
    importlib.import_module(found.name)
print([name for name in kvlab.__all__ if name != "workloads" and isinstance(getattr(kvlab, name), types.ModuleType)])
"""


def test_a_public_name_is_not_hidden_by_a_module_of_the_same_name() -> None:
    done = subprocess.run([sys.executable, "-c", NAMES], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_star_import_replaces_no_built_in() -> None:
    import builtins

    import kvlab

    assert set(kvlab.__all__) & set(vars(builtins)) == set()
    assert "open" in dir(kvlab)
