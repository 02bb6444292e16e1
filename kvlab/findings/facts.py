"""Facts of a recording, with what a catalogue or a user adds: the model's shape by its name, the server's rules, the machine's bytes.

`kvlab.recording.facts` folds what the recording itself says; this is the one place that looks a model's name up.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from kvlab.lab.shapes import open_twin, read_shape, shipped_for
from kvlab.policy import Policy
from kvlab.recording import Recording, load
from kvlab.recording.facts import Facts, Known, fold, model_of
from kvlab.shape import Shape
from kvlab.units import parse_bytes


class Given(TypedDict, total=False):
    """What a user adds to a recording.

    Attributes:
        shape: The model's shape, when the recording does not name a model that is shipped: a shipped name, a config.json, a folder, or a Shape.
        policy: The server's rules, when the recording does not have its version: a release such as `0.32.5`, `main`, or a Policy.
        machine: All bytes of the machine, such as `64GiB`, when the recording does not have them.
    """

    shape: Shape | str | Path | Mapping[str, Any] | None
    policy: Policy | str | None
    machine: int | str | None


def facts(recording: Recording | str | Path, **given: Unpack[Given]) -> Facts:
    """Return what is known of a recording (of a run, a twin, a probe, or an import; or the path of one, or of what can be imported), and how well.

    `given` is what a user adds (`Given`).

    Raises:
        BadValue: it is no recording, no shape of that name is shipped, the policy is no version that is known, or the machine's size is no number of bytes.
        UnreadableInput: the shape's file cannot be read.
        NotAvailable: the shape's model keeps a cache that kvlab has no rules for.

    Example:
        >>> import kvlab
        >>> kvlab.facts(kvlab.twin("smollm2").run("unrelated:2", progress=False)).budget.value
        8589934592
    """
    recording = recording_of(recording)
    policy, machine = given.get("policy"), given.get("machine")
    rules = None if policy is None else Known(policy if isinstance(policy, Policy) else Policy.of_server(policy), "known", "given")
    return fold(recording, shape=_shape(recording, given.get("shape")), policy=rules, machine_bytes=None if machine is None else parse_bytes(machine))


def recording_of(given: Recording | str | Path) -> Recording:
    """Return a recording, or the one at a path, where a log or a table may be too.

    Raises:
        BadValue: it is neither.
        UnreadableInput: it cannot be read.
    """
    if isinstance(given, Recording):
        return given
    if isinstance(given, str | Path) and is_importable(Path(given).expanduser()):  # pyright: ignore[reportUnnecessaryIsInstance]
        from kvlab.importers import import_file

        return import_file(given).recording
    return load(given)


def is_importable(path: Path) -> bool:
    """Return whether what is at a path can only be read by importing it: it is there, and neither a folder nor an archive."""
    return path.exists() and not path.is_dir() and path.suffix != ".zip" and not (path.is_file() and zipfile.is_zipfile(path))


def _shape(recording: Recording, given: Shape | str | Path | Mapping[str, Any] | None) -> Known[Shape | None] | None:
    if given is not None:
        found = given if isinstance(given, Shape) else open_twin(given).shape if isinstance(given, Mapping) else read_shape(given)
        return Known(found, "known", "given")
    if recording.manifest.shape:
        return None
    name = shipped_for(model_of(recording))
    return None if name is None else Known(read_shape(name), "assumed", f"the model's name is that of {name}")
