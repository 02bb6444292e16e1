"""Where the twin's shape comes from: a shipped one by name, a model's config or folder, a shape's file, layer kinds with unit prices, or a Shape."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kvlab import shipped
from kvlab.errors import BadValue, KvlabError, UnreadableInput, require_type, require_types
from kvlab.lab.twin import Twin
from kvlab.models.config import Provenance, SourcedShape, cached_folder, shape_from_config
from kvlab.models.config.provenance import provenance_from
from kvlab.policy import Policy
from kvlab.shape import Shape, unit_groups

UNIT_TOKEN_BYTES, UNIT_STATE_BYTES = 1, 10
"""What a layer given by its kind alone costs: bytes a KV token, and bytes a whole state."""

SHAPE_FIELDS = ("name", "groups", "weights_bytes", "context", "look_ahead")
"""What of a shape's file is the shape; the rest says where it comes from."""

_PARTS = re.compile(r"[:/\s_-]+")
_OF_FILES = re.compile(r"^(?:mlx|community|latest|instruct|it|chat|gguf|fp16|bf16|fp32|\d+bit|q\d.*|int\d|k|m|s|nvfp4|mxfp\d)$")


def open_twin(shape: Shape | str | Path | Mapping[str, Any] | Sequence[str], policy: Policy | None = None) -> Twin:
    """Open a twin.

    Args:
        shape: A Shape; the name of a shipped one (`qwen3.8-27b`); a config.json or a folder with one, of any model that mlx-lm knows; the
            fields of a config; a hub's id (owner/model) that was downloaded before; a file (or its fields) that `Shape.to_dict` was
            written to; or layer kinds in layer order, which then cost 1 byte a KV token and 10 bytes a whole state. The twin of an open
            lab is that of its shape: `lab.shape`.
        policy: The choices its cache follows; upstream main by default.

    Raises:
        BadValue: no shape of that name is shipped, a kind is unknown, or a field of the file cannot be used.
        UnreadableInput: the file cannot be read, or holds neither a shape nor a config.
        NotAvailable: the model keeps a cache that kvlab has no rules for.

    Example:
        >>> import kvlab
        >>> twin = kvlab.twin("qwen3.8-27b")
        >>> twin.run("unrelated:2", progress=False).requests["counted"].to_list()
        [307888128, 773132288]
    """
    if isinstance(shape, Shape):
        return Twin(_keeping(shape), policy)
    if isinstance(shape, Mapping):
        found = shape_of_fields(dict(shape), "the given fields")
    elif isinstance(shape, str | Path):
        found = find_shape(shape)
    else:
        require_type("shape", shape, Sequence, "a Shape, a name, a path, the fields of a config, or layer kinds in layer order")
        require_types(("a layer kind", kind, str, "a word such as kv") for kind in shape)
        return Twin(_keeping(Shape("+".join(shape), unit_groups(shape, UNIT_TOKEN_BYTES, UNIT_STATE_BYTES))), policy)
    return Twin(found.shape, policy, found.provenance)


def shipped_names() -> list[str]:
    """Return the names of the shipped shapes, sorted."""
    return sorted(one.stem for one in shipped.data("shapes").glob("*.json"))


def shipped_for(model: str) -> str | None:
    """Return the shipped shape whose name has every part of a server's name for a model (`qwen3.8:27b-mlx`: `qwen3.8-27b`); None when there is none.

    Parts that name files and number types do not count. Of several names the shortest is taken.
    """
    wanted = _parts(model.rsplit("/", 1)[-1])
    fitting = [name for name in shipped_names() if wanted and wanted <= _parts(name)]
    return min(fitting, key=len, default=None)


def read_shape(name: str | Path) -> Shape:
    """Return the shape that `find_shape` finds, without where it comes from."""
    return find_shape(name).shape


def find_shape(name: str | Path) -> SourcedShape:
    """Return a shipped shape by name, or one from a file or folder, with where its figures come from; errors as in `open_twin`."""
    if str(name) in shipped_names():
        return _read(shipped.data("shapes") / f"{name}.json")
    path = Path(name).expanduser()
    if path.is_dir():
        return shape_from_config(path)
    if path.suffix == ".json" or path.is_file():
        return _read(path)
    if isinstance(name, Path) or name.startswith((".", "/", "~")):
        raise UnreadableInput(what=f"{name} cannot be read", why="there is no such file or folder", hint="give a config.json, or a folder that holds one")
    if "/" in name and (folder := cached_folder(name)) is not None:
        return shape_from_config(folder, name=name)
    raise _unknown(name)


def _read(path: Path) -> SourcedShape:
    try:
        data: object = json.loads(path.read_text(encoding="utf-8-sig")) if path.stat().st_size else None
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        raise UnreadableInput(what=f"{path} cannot be read", why=why, hint="give a model's config.json, or a shape's .json file") from None
    if not isinstance(data, dict):
        raise UnreadableInput(what=f"{path} holds no object", why="a config or a shape is an object with named values", hint="give a model's config.json")
    fields = cast("dict[str, Any]", data)
    _require_no_case(path, fields)
    return _shape(path, fields) if "groups" in fields else shape_from_config(path)


def shape_of_fields(fields: dict[str, Any], where: str) -> SourcedShape:
    """Return the shape of a config's fields, or of a shape's own, that came from the file `where`; errors as in `open_twin`."""
    _require_no_case(where, fields)
    if "groups" in fields:
        return _shape(where, fields)
    stem = Path(where).stem
    # most files of models are called config.json, which says nothing
    name = stem if Path(where).suffix == ".json" and stem != "config" else str(fields.get("model_type", where))
    return shape_from_config(fields, name=name, where=where)


def _require_no_case(path: Path | str, fields: dict[str, Any]) -> None:
    if isinstance(fields.get("workload"), list):
        raise BadValue(
            what=f"{path} is a case, not a shape",
            why="it has a workload: requests, with the layers that it is about",
            hint=f"run it: kvlab twin {path}; a shape is a model's config.json, its folder, or a shape's own file",
        )


def _shape(path: Path | str, data: dict[str, Any]) -> SourcedShape:
    """Return the shape of a file that `Shape.to_dict` or `SourcedShape.to_dict` was written to."""
    try:
        shape = _keeping(Shape.from_dict({name: data[name] for name in SHAPE_FIELDS if name in data}))
        sources: Mapping[str, Provenance] = provenance_from(data.get("provenance"))
    except KvlabError as error:
        raise type(error)(what=f"{path}: {error.what}", why=error.why, hint=error.hint) from None
    return SourcedShape(shape, sources)


def _keeping(shape: Shape) -> Shape:
    """Return `shape` if any of its layers keeps something."""
    if all(group.kind == "stateless" for group in shape.groups):
        raise BadValue(
            what=f"no layer of {shape.name or 'the shape'} keeps anything",
            why="a prefix cache holds what layers keep of earlier tokens",
            hint="give a model with attention or recurrent layers",
        )
    return shape


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in _PARTS.split(name.lower()) if part and not _OF_FILES.match(part))


def _unknown(name: str) -> BadValue:
    names = shipped_names()
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    return BadValue(
        what=f"there is no shape {name!r}",
        why=f"the shipped shapes are {', '.join(names)}; a config.json and a folder that holds one work for any model that mlx-lm knows",
        hint=f"did you mean {' or '.join(near)}?" if near else "name one of these, or give a config.json",
    )
