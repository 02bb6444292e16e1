"""Trace the shipped shapes anew from the configs that stand in their files, and store them.

    python -m tests.tools.store_shapes data/shapes/qwen3.8-27b.json

A file holds what a person wrote (`config`, `config_source`, `as_run` for a model that kvlab itself runs, and `told`: figures that come from
elsewhere, with their sources) and what was traced of it (`groups`, `weights_bytes`, `context`, `look_ahead`, `provenance`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from kvlab.models.config import GUESS, Provenance, SourcedShape, shape_from_config

WRITTEN = ("name", "config", "config_source", "as_run", "told")
"""What a person wrote; the rest of a file is made."""


def main(paths: Sequence[str] | None = None) -> int:
    """Store the shapes of the files named on the command line; return the exit code."""
    for name in sys.argv[1:] if paths is None else paths:
        path = Path(name)
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(as_text(stored(data)), encoding="utf-8")
        print(f"stored {path.name}")
    return 0


def stored(data: dict[str, Any]) -> dict[str, Any]:
    """Return a shape's file anew: what a person wrote in it, and what its config gives."""
    made = traced(data)
    written = {name: data[name] for name in WRITTEN if name in data}
    return written | made.to_dict()


def traced(data: dict[str, Any]) -> SourcedShape:
    """Return the shape of a file's config, with the figures that are told from elsewhere in place of the traced ones."""
    config = cast("dict[str, Any]", data["config"])
    found = shape_from_config(config, name=data["name"], as_run=data.get("as_run", False))
    source = Provenance(**data["config_source"])
    provenance = {name: _of(source, one) for name, one in found.provenance.items()}
    shape = found.shape.to_dict()
    for name, told in cast("dict[str, dict[str, Any]]", data.get("told", {})).items():
        if "value" in told:
            shape[name] = told["value"]
        provenance[name] = Provenance(told["status"], told["source"])
    return SourcedShape(type(found.shape).from_dict(shape), provenance)


def as_text(data: dict[str, Any]) -> str:
    """Return a shape's file as text: an entry a line, the layers' numbers in one line."""
    lines = [f" {json.dumps(name)}: {_value(value)}" for name, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, dict) and value:
        inner = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in cast("dict[str, Any]", value).items()]
        return "{\n" + ",\n".join(inner) + "\n }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in cast("list[Any]", value)) + "\n ]"
    return json.dumps(value)


def _of(source: Provenance, traced_from: Provenance) -> Provenance:
    """Return a traced figure's provenance: a guess if the config is one."""
    status = GUESS if GUESS in (source.status, traced_from.status) else source.status
    return Provenance(status, f"{traced_from.source}; the config: {source.source}")


if __name__ == "__main__":
    sys.exit(main())
