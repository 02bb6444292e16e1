"""Views read a recording's folds and never its raw events, and the page draws what it is given: it knows no choice of a policy."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import altair as alt
import pytest

import kvlab
import kvlab.views
from kvlab.findings import diagnose
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.views.compare.comparison import compare
from kvlab.views.compare.prefixes import Prefixes
from kvlab.views.dashboard.widget import dashboard
from kvlab.views.mimebundle import as_text, mimebundle


class Guarded(Recording):
    """A recording whose raw events no view may touch: neither whole, nor by kind, nor in their tables."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("events", "rows", "tables"):
            reader = str(sys._getframe(1).f_globals.get("__name__"))
            assert not reader.startswith("kvlab.views"), f"{reader} reads raw events"
        return super().__getattribute__(name)


@pytest.fixture(scope="module")
def recording() -> Guarded:
    twin = kvlab.twin("smollm2")
    made = twin.run("branches:4", policy=twin.policy.replace(budget_bytes=12 << 20), store_text=True, progress=False)
    return Guarded(made.manifest, made.events)


def views() -> Iterator[Callable[..., Any]]:
    """Yield every public function of `kvlab.views` that takes a recording or a moment."""
    for found in pkgutil.walk_packages(kvlab.views.__path__, "kvlab.views."):
        module = importlib.import_module(found.name)
        for name, one in vars(module).items():
            if inspect.isfunction(one) and one.__module__ == found.name and not name.startswith("_") and _reads(one):
                yield one


def _reads(view: Callable[..., Any]) -> bool:
    return any(re.search(r"\b(Recording|Moment)\b", str(one.annotation)) for one in inspect.signature(view).parameters.values())


def arguments(view: Callable[..., Any], recording: Recording, folder: Path) -> dict[str, Any]:
    """Return what a view needs: of what it can do without only the texts are requested."""
    end = recording.at(recording.last)
    known: dict[str, Any] = {"moment": end, "source": recording, "recording": recording, "request": 2, "at": recording.last, "sentence": "What happened."}
    known |= {"findings": diagnose(recording), "path": folder / "out", "shape": recording.manifest.shape, "prefixes": Prefixes(recording, recording)}
    both = end if "Moment" in str(inspect.signature(view).parameters.get("a")) else recording
    known |= {"a": both, "b": both, "texts": True}
    given: dict[str, Any] = {}
    for name, one in inspect.signature(view).parameters.items():
        if one.default is inspect.Parameter.empty or name in ("texts", "findings") or (name == "at" and "int" in str(one.annotation)):
            given[name] = known[name]
    return given


@pytest.mark.parametrize("view", [*views()], ids=lambda view: f"{view.__module__.removeprefix('kvlab.views.')}.{view.__name__}")
def test_a_view_reads_nothing_but_the_fold(view: Callable[..., Any], recording: Guarded, tmp_path: Path) -> None:
    drawn = view(**arguments(view, recording, tmp_path))
    if isinstance(drawn, alt.TopLevelMixin):
        drawn.to_dict()


def test_rich_objects_read_nothing_but_the_fold(recording: Guarded) -> None:
    view = dashboard(recording, texts=True)
    shown = (recording, recording.at(recording.last), view.still(), compare(recording, recording))
    assert all("not drawn" not in mimebundle(one)["text/plain"] for one in shown)
    assert view.sentence
    assert as_text(recording, diagnose(recording))
    assert compare(recording, recording).tries(2)


@pytest.mark.parametrize("reads", ["events.height", "rows().height", "tables.count"])
def test_the_guard_stops_a_view(recording: Guarded, reads: str) -> None:
    stranger: dict[str, Any] = {"__name__": "kvlab.views.stranger"}
    exec(f"def view(recording): return recording.{reads}", stranger)  # noqa: S102  a view that does what none may
    with pytest.raises(AssertionError, match="stranger reads raw events"):
        stranger["view"](recording)


ORDINARY = {"snapshots", "attach", "store", "close", "media", "release", "fit"}
"""Fields of Policy that are words of the page too: an owner of bytes, phases, the dataset, a method."""


def test_no_script_names_a_choice_of_a_policy() -> None:
    named = {item.name for item in fields(Policy)} - ORDINARY
    assert len(named) > 20
    for script in (files("kvlab.views") / "page").iterdir():
        if script.name.endswith(".js"):
            text = script.read_text(encoding="utf-8")
            found = {name for name in named if re.search(rf"\b{name}\b", text)} | set(re.findall(r"\bpolicy\.\w+", text))
            # `compare` lists differences that Python wrote: lines, no choices
            assert found <= {"policy.map"}, script.name
