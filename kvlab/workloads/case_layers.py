"""The model of a case: from its `layers` to a Shape.

As an object, `layers` gives numbers of layers by kind and prices over all layers of a kind; the kinds with a number above 0 become
groups in the order of the object's keys, and layer indices are dealt out group by group. As a list it gives kinds in layer order, with
prices per layer in `units`; each kind becomes one group, in order of first appearance, with the indices of its layers.
"""

from __future__ import annotations

from typing import Any, cast

from kvlab.shape import KINDS, LayerGroup, Shape, unit_groups
from kvlab.units import GIB
from kvlab.workloads.case_fields import Fields

_NUMBERS = ("kv", "rotating", "recurrent", "draft_kv", "hidden")
_OBJECT_KEYS = (
    "name",
    *_NUMBERS,
    "kv_bytes_per_token",
    "whole_state_bytes",
    "window",
    "rotating_bytes_per_token",
    "hidden_bytes_per_token",
    "conv_bytes_per_token",
    "look_ahead",
    "weights_gib",
)
_UNIT_KEYS = ("bytes_per_kv_token", "bytes_per_state")


def shape_of(case: Fields, name: str) -> Shape:
    """Return the shape that a case's `layers` (and `units`, `look_ahead`) describe; `name` when they name none.

    Raises:
        BadValue: a kind is unknown, a number is negative or a price is missing.
    """
    layers = case.data.get("layers")
    if isinstance(layers, list):
        return _from_list(case, cast("list[Any]", layers), name)
    for key in ("units", "look_ahead"):
        if key in case:
            raise case.bad(key, "it goes with a list of layers only; an object of layers holds its own prices")
    return _from_object(Fields(f"{case.where}, layers", layers, _OBJECT_KEYS), name)


def _from_object(layers: Fields, name: str) -> Shape:
    numbers = {kind: layers.count(kind) for kind in layers.data if kind in _NUMBERS and layers.count(kind)}
    if not numbers:
        given = next((kind for kind in layers.data if kind in _NUMBERS), None)
        why = "a model has at least one layer that keeps something"
        raise layers.missing("kv", why) if given is None else layers.bad(given, f"{why}; the numbers of kv, rotating and recurrent layers are all 0")
    prices = _prices(layers, numbers)
    groups: list[LayerGroup] = []
    first = 0
    for kind, number in numbers.items():
        groups.append(LayerGroup(kind=kind, layers=tuple(range(first, first + number)), **prices[kind]))
        first += number
    return Shape(
        name=layers.text("name", name),
        groups=tuple(groups),
        weights_bytes=round(layers.number("weights_gib") * GIB),
        look_ahead=_look_ahead(layers, has_draft="draft_kv" in numbers),
    )


def _prices(layers: Fields, numbers: dict[str, int]) -> dict[str, dict[str, Any]]:
    """Return each kind's prices over all of its layers. Draft layers share the price of kv layers; rotating ones their part of a checkpoint."""
    needs = {kind: f"{kind}_bytes_per_token" for kind in numbers} | {"draft_kv": "kv_bytes_per_token", "recurrent": "whole_state_bytes"}
    for kind in numbers:
        if needs[kind] not in layers:
            raise layers.missing(needs[kind], f"{kind} layers need their price")
    kv_bytes, window, rotating_bytes = (layers.count(key) for key in ("kv_bytes_per_token", "window", "rotating_bytes_per_token"))
    conv = layers.count("conv_bytes_per_token")
    if "rotating" in numbers and window < 1:
        raise layers.bad("window", "rotating layers keep a window of at least 1 token")
    draft = kv_bytes * numbers.get("draft_kv", 0) // max(1, numbers.get("draft_kv", 0) + numbers.get("kv", 0))
    rotating_state = window * rotating_bytes if "rotating" in numbers else 0
    state = layers.count("whole_state_bytes")
    if "recurrent" in numbers and state < rotating_state:
        raise layers.bad("whole_state_bytes", f"a checkpoint holds at least the rotating layers' full window, {rotating_state} bytes")
    return {
        "kv": {"bytes_per_token": kv_bytes - draft},
        "draft_kv": {"bytes_per_token": draft},
        "hidden": {"bytes_per_token": layers.count("hidden_bytes_per_token")},
        "rotating": {"bytes_per_token": rotating_bytes, "state_bytes": rotating_state, "window": window},
        "recurrent": {"state_bytes": state - rotating_state, "conv_bytes_per_token": conv},
    }


def _from_list(case: Fields, kinds: list[Any], name: str) -> Shape:
    units = Fields(f"{case.where}, units", case.data.get("units", {}), _UNIT_KEYS)
    per_token, per_state = units.count("bytes_per_kv_token", 1), units.count("bytes_per_state", 1)
    for kind in kinds:
        if kind not in KINDS:
            raise case.bad("layers", f"{kind!r} is no layer kind; the kinds are {', '.join(KINDS)}")
    if not kinds:
        raise case.bad("layers", "a model has at least one layer")
    return Shape(name=name, groups=unit_groups(kinds, per_token, per_state), look_ahead=_look_ahead(case, has_draft="draft_kv" in kinds))


def _look_ahead(fields: Fields, *, has_draft: bool) -> int:
    value = fields.count("look_ahead")
    if value > 1:
        raise fields.bad("look_ahead", "a draft head has a look-ahead of 0 or 1 tokens")
    if value and not has_draft:
        raise fields.bad("look_ahead", "only a draft head has a look-ahead, and there is no draft_kv layer", "add a draft_kv layer, or leave look_ahead out")
    return value
