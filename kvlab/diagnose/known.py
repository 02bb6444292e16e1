"""What is known of the model and the server behind a recording: its shape, its rules, the bytes of its machine.

Each is taken from the recording's manifest, else from what its events name, else it is not known.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.errors import BadValue
from kvlab.lab.model_names import shipped_for
from kvlab.lab.shapes import open_twin, read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape

OWN = ("lab", "twin")
"""Sources whose cache is looked into and that tell each request's reason. All others are seen from outside: reasons are derived, evictions do not show."""

RELEASES = ("main", "0.33.0", "0.32.7", "0.32.1", "0.30.8", "0.30.7")
"""The releases with which rules changed, the newest first: the sets of rules that are known."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_TOTALS = ("system_total", "physical")


def with_shape(recording: Recording, shape: Shape | str | Path | Mapping[str, Any]) -> Recording:
    """Return the recording with the shape that a user names: a shipped one, a config.json, a folder with one, its fields, or a Shape.

    Raises:
        BadValue: no shape of that name is shipped, or a field cannot be used.
        UnreadableInput: the file cannot be read, or holds neither a shape nor a config.
        NotAvailable: the model keeps a cache that kvlab has no rules for.
    """
    found = shape if isinstance(shape, Shape) else open_twin(shape).shape if isinstance(shape, Mapping) else read_shape(shape)
    manifest = dataclasses.replace(recording.manifest, shape=found.to_dict())
    return Recording(manifest, recording.events, path=recording.path, damaged=recording.damaged)


def with_policy(recording: Recording, policy: Policy | str) -> Recording:
    """Return the recording with the rules that a user names: a release such as `0.32.5`, `main`, or a Policy.

    Raises:
        BadValue: the text is no version, or older than the rules that are known.
    """
    rules = policy if isinstance(policy, Policy) else Policy.of_server(policy)
    manifest = dataclasses.replace(recording.manifest, policy=rules.to_dict())
    return Recording(manifest, recording.events, path=recording.path, damaged=recording.damaged)


def shape_of(recording: Recording) -> Shape | None:
    """Return what the model keeps: as recorded or named by a user, else the shipped shape of the model that is named most; None without one."""
    if recording.manifest.shape:
        return recording.shape
    name = shipped_for(model_of(recording))
    return None if name is None else read_shape(name)


def model_of(recording: Recording) -> str:
    """Return the name most events give the model, or the manifest's."""
    if "model" not in recording.events.columns:
        return recording.manifest.model
    named = recording.events.filter(pl.col("model").is_not_null() & (pl.col("model") != ""))["model"]
    return str(named.mode().sort()[0]) if len(named) else recording.manifest.model


def models_listed(recording: Recording) -> tuple[str, ...]:
    """Return the models that a server listed as loaded, in the order of their first mention."""
    named = recording.events.filter((pl.col("kind") == "listed") & (pl.col("count") > 0))
    return tuple(named.get_column("model").drop_nulls().unique(maintain_order=True)) if named.height else ()


def policy_of(recording: Recording) -> Policy:
    """Return the rules of the cache; those of upstream main when they are not told."""
    return policy_told(recording) or Policy()


def policy_told(recording: Recording) -> Policy | None:
    """Return the rules of the cache as recorded, else those of the server's release; None when neither is told."""
    if recording.manifest.policy:
        return recording.policy
    version = _VERSION.search(version_of(recording))
    try:
        return None if version is None else Policy.ollama(version[0])
    except BadValue:
        return None


def version_of(recording: Recording) -> str:
    """Return the server's version as a log or a probe names it; "" when none is told."""
    origin = recording.manifest.origin
    return str(origin.get("server_version") or origin.get("ollama") or "")


def machine_bytes(recording: Recording) -> int | None:
    """Return all bytes of the machine the model ran on: as the source tells them, or as found when kvlab itself ran or probed there; None when not known."""
    told = recording.observed.filter(pl.col("gauge").is_in(_TOTALS) & pl.col("value").is_not_null())
    if told.height:
        return int(told.item(-1, "value"))
    made = recording.manifest
    here = made.source == "lab" or (made.source == "probe" and made.origin.get("server") == "this machine")
    ram = made.machine.get("ram_bytes")
    return int(ram) if here and isinstance(ram, int) and ram > 0 else None


def last(recording: Recording, gauge: str, label: str | None = None) -> int | None:
    """Return the last bytes that were read of a gauge, of `label` when given; None when it was never read."""
    rows = recording.observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null())
    rows = rows if label is None else rows.filter(pl.col("label") == label)
    return int(rows.item(-1, "value")) if rows.height else None
