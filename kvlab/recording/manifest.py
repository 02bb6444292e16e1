"""Manifest: what made a recording, as plain data, and what is needed to make it again.

Invariant: a manifest holds no host name, no user name and no path: of a path only its last part is kept.
"""

from __future__ import annotations

import dataclasses
import json
import re
import zlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PureWindowsPath
from typing import Any, cast

from kvlab.errors import KvlabError, UnreadableInput
from kvlab.policy import OF_A_SERVER, Policy
from kvlab.recording import computer
from kvlab.shape import Shape
from kvlab.visible_text import storable

SCHEMA_VERSION = 1
"""The version of the layout of a recording that this kvlab writes."""

READABLE_SCHEMAS = (1,)
"""The versions it reads."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made a recording.

    Attributes:
        schema: The version of the layout of files, tables and events.
        kvlab: The version of kvlab that wrote it.
        mlx: The version of mlx that ran the model; None in the twin and in imports.
        mlx_lm: The version of mlx-lm; None likewise.
        model: How the model is called.
        origin: Where the model came from: file, sha256, licence, dtype, device.
        shape: What the model keeps per token and checkpoint, as `Shape.to_dict()`; {} when unknown.
        policy: The rules of the cache, as `Policy.to_dict()`; {} when unknown.
        workload: The workload's name; "" for none.
        seed: The seed of the workload and of sampling; None when nothing is drawn.
        machine: System, its version, architecture, CPUs, bytes of RAM, version of Python.
        source: Who made the events: lab, twin, or an importer.
        stored_text: Prompts and answers are in the events.
        created: When it began, UTC, ISO 8601.
        checked: Every rule of the cache and every restored position was checked after every step.
        events: How many events it has; None while it is being written, and for ever after a kill.
        left_out: What was not recorded, by the names of `kvlab.recording.caveats`; () when every event was.
    """

    schema: int
    kvlab: str
    mlx: str | None
    mlx_lm: str | None
    model: str
    origin: dict[str, Any]
    shape: dict[str, Any]
    policy: dict[str, Any]
    workload: str
    seed: int | None
    machine: dict[str, Any]
    source: str
    stored_text: bool
    created: str
    checked: bool = False
    events: int | None = None
    left_out: tuple[str, ...] = ()

    @classmethod
    def now(  # noqa: PLR0913  an argument for each field that is not found out here
        cls,
        *,
        model: str,
        origin: Mapping[str, Any] | None = None,
        shape: Shape | Mapping[str, Any] | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        workload: str = "",
        seed: int | None = None,
        source: str = "lab",
        stored_text: bool = False,
        checked: bool = False,
        left_out: tuple[str, ...] = (),
    ) -> Manifest:
        """Return a manifest of a run that begins now on this machine; with source `lab` mlx takes part. Nothing is imported to find versions."""
        with_mlx = source == "lab"
        shape_dict = shape.to_dict() if isinstance(shape, Shape) else dict(shape or {})
        if "name" in shape_dict:
            shape_dict["name"] = _last_part(shape_dict["name"])
        made: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "kvlab": computer.version_of("kvlab") or "unknown",
            "mlx": computer.version_of("mlx") if with_mlx else None,
            "mlx_lm": computer.version_of("mlx-lm") if with_mlx else None,
            "model": _last_part(model),
            "origin": {name: _last_part(value) for name, value in (origin or {}).items()},
            "shape": shape_dict,
            "policy": policy.to_dict() if isinstance(policy, Policy) else dict(policy or {}),
            "workload": _last_part(workload),
            "seed": seed,
            "machine": computer.facts(),
            "source": source,
            "stored_text": stored_text,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "checked": checked,
        }
        # half of a surrogate pair, as an argument or JSON may hold it, is in no encoding
        return cls(**json.loads(storable(json.dumps(made, ensure_ascii=False))), left_out=left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON holds it."""
        return dataclasses.asdict(self)

    def to_json(self) -> str:
        """Return the text of `manifest.json`, its checksum included; equal manifests give equal texts."""
        data = self.to_dict()
        return json.dumps(data | {CHECKSUM: _checksum(data)}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, name: str, *, strict: bool = True) -> Manifest:
        """Read the text of `manifest.json`; `name` is what errors call it. Keys it does not know are left out.

        A manifest without `checked` is of a recording that was not; one without `left_out` was written by a version that did not say, and one without
        a checksum by a version that made none.

        Args:
            text: The text.
            name: What errors call it.
            strict: Refuse one whose checksum is another, or that has keys that are not known and no checksum.

        Raises:
            UnreadableInput: the text is no manifest, is damaged, or is of a schema version that is not read.
        """
        try:
            loaded: Any = json.loads(text)
            # half of a surrogate pair is JSON, and no text
            json.dumps(loaded, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise _no_manifest(name, f"it is not JSON: {error}") from None
        if not isinstance(loaded, dict):
            raise _no_manifest(name, "it is not a JSON object")
        data = cast("dict[str, Any]", loaded)
        if data.get("schema") not in READABLE_SCHEMAS:
            raise UnreadableInput(
                what=f"{name} has schema version {data.get('schema')!r}, written by kvlab {data.get('kvlab', 'unknown')}",
                why=f"this kvlab reads schema versions {', '.join(map(str, READABLE_SCHEMAS))}",
                hint="read it with the kvlab that wrote it, or update kvlab",
            )
        known = dataclasses.fields(cls)
        if strict:
            _require_whole(data, {item.name for item in known}, name)
        data = {item.name: item.default for item in known if item.default is not dataclasses.MISSING} | data
        missing = [item.name for item in known if item.name not in data]
        if missing:
            raise _no_manifest(name, f"it lacks {', '.join(missing)}")
        wrong = [item.name for item in known if not _fits(data.get(item.name), str(item.type))]
        if wrong:
            raise _no_manifest(name, f"the type of {', '.join(wrong)} is wrong")
        values: dict[str, Any] = {item.name: data.get(item.name) for item in known}
        values["left_out"] = tuple(map(str, values["left_out"]))
        # older recordings hold what no run follows
        values["policy"] = {choice: value for choice, value in values["policy"].items() if choice not in OF_A_SERVER}
        made = cls(**values)
        _require_used(made, name)
        return made


CHECKSUM = "crc32"
"""The key of a manifest's checksum: of all its other keys, as JSON without spaces, sorted."""


def _checksum(data: Mapping[str, Any]) -> str:
    others = {key: value for key, value in data.items() if key != CHECKSUM}
    return f"{zlib.crc32(json.dumps(others, sort_keys=True, separators=(',', ':')).encode()):08x}"


def _require_whole(data: Mapping[str, Any], known: AbstractSet[str], name: str) -> None:
    if CHECKSUM in data and data[CHECKSUM] != _checksum(data):
        raise _no_manifest(name, "its checksum is another: it was damaged or changed by hand; --salvage (strict=False) reads it as it is")
    unknown = sorted(set(data) - known - {CHECKSUM})
    if unknown and CHECKSUM not in data:
        raise _no_manifest(name, f"keys in it are not known, {', '.join(map(repr, unknown))[:200]}, and it has no checksum")


def _require_used(made: Manifest, name: str) -> None:
    """Refuse values that fit their type and cannot be used; a choice that only a newer kvlab has is refused where it is needed."""
    for field in dataclasses.fields(Manifest):
        value = getattr(made, field.name)
        if isinstance(value, str) and len(value) > MOST_LETTERS:
            raise _no_manifest(name, f"its {field.name} has {len(value):,} letters, and a name has at most {MOST_LETTERS:,}")
    if made.events is not None and not 0 <= made.events < 1 << 53:
        raise _no_manifest(name, f"{made.events} events cannot be")
    for field, read in (("shape", Shape.from_dict), ("policy", Policy.from_dict)):
        value: dict[str, Any] = getattr(made, field)
        try:
            if value:
                # printed, since its fields are of any type until they are used
                str(read(value))
        except KvlabError as error:
            if field == "policy":
                continue
            raise _no_manifest(name, f"its shape cannot be used: {error.what}, but {error.why}") from None
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise _no_manifest(name, f"its {field} cannot be used: {error}") from None


MOST_LETTERS = 4096
"""Letters of a name in a manifest at most."""

_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "dict[str, Any]": (dict,),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "tuple[str, ...]": (list, tuple),
}


def _fits(value: Any, type_name: str) -> bool:
    # True and False are whole numbers to Python
    return isinstance(value, _KINDS[type_name]) and isinstance(value, bool) <= (type_name == "bool")


def _no_manifest(name: str, why: str) -> UnreadableInput:
    return UnreadableInput(what=f"{name} cannot be read as a recording's manifest", why=why, hint="record again, or get the recording again")


def _last_part(value: Any) -> Any:
    """Return the last part of what begins like a path (`/`, `~`, `.`, a drive); anything else, such as `owner/model`, as it is."""
    if not isinstance(value, str) or not (value.startswith(("/", "~", ".")) or PureWindowsPath(value).is_absolute()):
        return value
    parts = [part for part in re.split(r"[\\/]", value) if part]
    return parts[-1] if parts else value
