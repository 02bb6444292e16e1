"""kvlab: look inside the prefix cache of a local LLM runner.

    import kvlab
    lab = kvlab.open("smollm2")
    recording = lab.run(kvlab.workloads.unrelated(15))
    kvlab.diagnose(recording)

Names are loaded when first used: importing kvlab brings in neither MLX nor Altair and changes nothing global.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvlab import workloads
    from kvlab.errors import KvlabError
    from kvlab.findings import diagnose, facts
    from kvlab.importers import read_ollama_log, read_table
    from kvlab.lab import open_twin as twin
    from kvlab.lab.lab import open_lab
    from kvlab.notebook import load_ipython_extension
    from kvlab.policy import Policy
    from kvlab.probe import Probe
    from kvlab.recording import Recording, load
    from kvlab.shape import LayerGroup, Shape
    from kvlab.views.compare.comparison import compare
    from kvlab.views.dashboard.widget import stepper
    from kvlab.views.mimebundle import show
    from kvlab.workloads import Request

    open = open_lab

_PLACES = {
    "KvlabError": ("kvlab.errors", "KvlabError"),
    "LayerGroup": ("kvlab.shape", "LayerGroup"),
    "Policy": ("kvlab.policy", "Policy"),
    "Probe": ("kvlab.probe", "Probe"),
    "Recording": ("kvlab.recording", "Recording"),
    "Request": ("kvlab.workloads", "Request"),
    "Shape": ("kvlab.shape", "Shape"),
    "compare": ("kvlab.views.compare.comparison", "compare"),
    "diagnose": ("kvlab.findings", "diagnose"),
    "facts": ("kvlab.findings", "facts"),
    "load": ("kvlab.recording", "load"),
    "load_ipython_extension": ("kvlab.notebook", "load_ipython_extension"),
    "open": ("kvlab.lab.lab", "open_lab"),
    "read_ollama_log": ("kvlab.importers", "read_ollama_log"),
    "read_table": ("kvlab.importers", "read_table"),
    "show": ("kvlab.views.mimebundle", "show"),
    "stepper": ("kvlab.views.dashboard.widget", "stepper"),
    "twin": ("kvlab.lab", "open_twin"),
    "workloads": ("kvlab.workloads", ""),
}

# `open` is not among them: `from kvlab import *` leaves the built-in one in place
__all__ = [
    "KvlabError",
    "LayerGroup",
    "Policy",
    "Probe",
    "Recording",
    "Request",
    "Shape",
    "compare",
    "diagnose",
    "facts",
    "load",
    "load_ipython_extension",
    "read_ollama_log",
    "read_table",
    "show",
    "stepper",
    "twin",
    "workloads",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kvlab' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    found = import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
