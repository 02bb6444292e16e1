"""Where the twin's shape comes from: a shipped one by name, a file, layer kinds with unit prices, or a Shape itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape

UNIT_TOKEN_BYTES = 1
UNIT_STATE_BYTES = 10
WHOLE_STATE = frozenset({"rotating", "recurrent"})


def open_twin(shape: Shape | str | Sequence[str], policy: Policy | None = None) -> Twin:
    """Open a twin.

    Args:
        shape: A Shape, the name of a shipped one (`smollm2`), a file that `Shape.to_dict` was written to, or layer kinds in layer
            order, which then cost 1 byte a KV token and 10 bytes a whole state.
        policy: The choices its cache follows; upstream main by default.

    Raises:
        BadValue: no shape of that name is shipped, or a kind is unknown.
        UnreadableInput: the file holds no shape.
    """
    if isinstance(shape, Shape):
        return Twin(shape, policy)
    if isinstance(shape, str):
        return Twin(read_shape(shape), policy)
    return Twin(unit_shape(shape), policy)


def unit_shape(kinds: Sequence[str]) -> Shape:
    """Return a shape of layer kinds in layer order, at unit prices."""
    groups: list[LayerGroup] = []
    for kind in dict.fromkeys(kinds):
        layers = tuple(index for index, one in enumerate(kinds) if one == kind)
        whole = kind in WHOLE_STATE
        groups.append(LayerGroup(kind, layers, 0 if whole else UNIT_TOKEN_BYTES * len(layers), UNIT_STATE_BYTES * len(layers) if whole else 0))
    return Shape(name="+".join(kinds), groups=tuple(groups))


def read_shape(name: str) -> Shape:
    """Return a shipped shape by name, or one from a file.

    Raises:
        BadValue: no shape of that name is shipped.
        UnreadableInput: the file holds no shape.
    """
    folder = shipped.data("shapes")
    path = Path(name) if name.endswith(".json") else folder / f"{name}.json"
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Shape.from_dict({key: value for key, value in data.items() if key != "provenance"})
    except FileNotFoundError:
        known = ", ".join(sorted(one.stem for one in folder.glob("*.json")))
        raise BadValue(
            what=f"there is no shape {name!r}",
            why=f"the shipped shapes are {known}",
            hint="name one of these or give a .json file of a shape",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(what=f"{name} holds no shape", why=str(error), hint="write one with Shape.to_dict() as JSON") from None
