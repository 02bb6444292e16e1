"""The table of `kvlab top`: a row for each loaded model, then what the machine has left. All bytes are in the unit that the header names."""

from __future__ import annotations

from kvlab.probe.sample import Sample
from kvlab.probe.top import LoadedModel
from kvlab.units import Unit, binary, unit_for
from kvlab.views.text_table import columns

OWNERS = ("weights", "live", "snapshots", "pool")
"""Owners with a column of their own; the rest are small."""


def top_text(models: list[LoadedModel], sample: Sample) -> str:
    """Return the table and the line of the machine."""
    held = [count for model in models for count in (model.size_bytes, model.footprint_bytes, *model.owner_bytes.values()) if count is not None]
    unit = unit_for(max(held, default=0))
    by_owner = any(model.owner_bytes for model in models)
    titles = ["model", "pid", f"size {unit.name}", f"footprint {unit.name}", *(f"{owner} {unit.name}" for owner in OWNERS if by_owner)]
    rows = [_row(model, unit, by_owner=by_owner) for model in models]
    table = columns([*titles, "queue", "unloads in"], rows) if models else "no model is loaded"
    return f"{table}\n\n{_machine(sample)}"


def _row(model: LoadedModel, unit: Unit, *, by_owner: bool) -> list[object]:
    queue = None if model.running is None else f"{model.running} runs, {model.waiting} wait"
    owners = [unit.shown(model.owner_bytes.get(owner)) for owner in OWNERS if by_owner]
    return [
        model.model,
        model.pid,
        unit.shown(model.size_bytes),
        unit.shown(model.footprint_bytes),
        *owners,
        queue,
        "never" if model.kept else _time(model.left_s),
    ]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _machine(sample: Sample) -> str:
    machine = sample.machine
    known = [(machine.available, "available"), (machine.swap_used, "swap used")]
    parts = [f"{binary(count)} {what}" for count, what in known if count is not None]
    runners = len(sample.family.runners)
    return ", ".join([*parts, f"{runners} runner process{'' if runners == 1 else 'es'}"])
