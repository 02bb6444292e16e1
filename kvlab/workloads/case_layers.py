"""The model of a case: from its `layers` to a Shape.

As an object, `layers` gives numbers of layers by kind and prices over all layers of a kind; the kinds with a number above 0 become
groups in the order of the object's keys, and layer indices are dealt out group by group. As a list it gives kinds in layer order, with
prices per layer in `units`; each kind becomes one group, in order of first appearance, with the indices of its layers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from kvlab.shape import LayerGroup, Shape, unit_groups
from kvlab.typed_json import Amount, Count, Placed, Text
from kvlab.units import GIB

_NUMBERS = ("kv", "rotating", "recurrent", "draft_kv", "hidden")
LookAhead = Annotated[int, Meta(ge=0, le=1)]


class Layers(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers of layers by kind, and prices in bytes over all layers of a kind."""

    name: Text = ""
    kv: Count = 0
    rotating: Count = 0
    recurrent: Count = 0
    draft_kv: Count = 0
    hidden: Count = 0
    kv_bytes_per_token: Count = 0
    whole_state_bytes: Count = 0
    window: Count = 0
    rotating_bytes_per_token: Count = 0
    hidden_bytes_per_token: Count = 0
    conv_bytes_per_token: Count = 0
    look_ahead: LookAhead = 0
    weights_gib: Amount = 0.0


class Units(Struct, frozen=True, forbid_unknown_fields=True):
    """Prices of one layer in bytes."""

    bytes_per_kv_token: Count = 1
    bytes_per_state: Count = 1


Kind = Literal["kv", "rotating", "recurrent", "stateless", "draft_kv", "hidden"]


class CaseModel(Struct, frozen=True, kw_only=True):
    """The keys of a case that describe its model."""

    layers: Layers | Annotated[list[Kind], Meta(min_length=1)] | UnsetType = UNSET
    units: Units = field(default_factory=Units)
    look_ahead: LookAhead = 0


def shape_of(case: Placed[Any], name: str) -> Shape:
    """Return the shape that a case's `layers` (and `units`, `look_ahead`) describe; `name` when they name none.

    Raises:
        BadValue: there is no layer, a price is missing, or a key does not go with the others.
    """
    given: CaseModel = case.values
    if isinstance(given.layers, list):
        groups = unit_groups(given.layers, given.units.bytes_per_kv_token, given.units.bytes_per_state)
        return Shape(name, groups, look_ahead=_look_ahead(case, has_draft="draft_kv" in given.layers))
    for key in ("units", "look_ahead"):
        if key in case:
            raise case.bad(key, "it goes with a list of layers only; an object of layers holds its own prices")
    return _from_object(Placed(f"{case.where}, layers", case.data["layers"], Layers), name)


def _from_object(placed: Placed[Layers], name: str) -> Shape:
    layers = placed.values
    kinds = [key for key in placed.data if key in _NUMBERS]
    numbers: dict[str, int] = {kind: getattr(layers, kind) for kind in kinds if getattr(layers, kind)}
    if not numbers:
        why = "a model has at least one layer that keeps something"
        raise placed.bad(kinds[0], f"{why}; the numbers of kv, rotating and recurrent layers are all 0") if kinds else placed.missing("kv", why)
    prices = _prices(placed, numbers)
    groups: list[LayerGroup] = []
    first = 0
    for kind, number in numbers.items():
        groups.append(LayerGroup(kind=kind, layers=tuple(range(first, first + number)), **prices[kind]))
        first += number
    ahead = _look_ahead(placed, has_draft="draft_kv" in numbers)
    return Shape(layers.name or name, tuple(groups), round(layers.weights_gib * GIB), look_ahead=ahead)


def _prices(placed: Placed[Layers], numbers: dict[str, int]) -> dict[str, dict[str, Any]]:
    """Return each kind's prices over all of its layers. Draft layers share the price of kv layers; rotating ones their part of a checkpoint."""
    layers = placed.values
    needs = {kind: f"{kind}_bytes_per_token" for kind in numbers} | {"draft_kv": "kv_bytes_per_token", "recurrent": "whole_state_bytes"}
    for kind in numbers:
        if needs[kind] not in placed:
            raise placed.missing(needs[kind], f"{kind} layers need their price")
    if layers.rotating and not layers.window:
        raise placed.bad("window", "rotating layers keep a window of at least 1 token")
    draft = layers.kv_bytes_per_token * layers.draft_kv // max(1, layers.draft_kv + layers.kv)
    rotating_state = layers.window * layers.rotating_bytes_per_token if layers.rotating else 0
    if layers.recurrent and layers.whole_state_bytes < rotating_state:
        raise placed.bad("whole_state_bytes", f"a checkpoint holds at least the rotating layers' full window, {rotating_state} bytes")
    return {
        "kv": {"bytes_per_token": layers.kv_bytes_per_token - draft},
        "draft_kv": {"bytes_per_token": draft},
        "hidden": {"bytes_per_token": layers.hidden_bytes_per_token},
        "rotating": {"bytes_per_token": layers.rotating_bytes_per_token, "state_bytes": rotating_state, "window": layers.window},
        "recurrent": {"state_bytes": layers.whole_state_bytes - rotating_state, "conv_bytes_per_token": layers.conv_bytes_per_token},
    }


def _look_ahead(placed: Placed[Any], *, has_draft: bool) -> int:
    if placed.values.look_ahead and not has_draft:
        why = "only a draft head has a look-ahead, and there is no draft_kv layer"
        raise placed.bad("look_ahead", why, "add a draft_kv layer, or leave look_ahead out")
    return placed.values.look_ahead
