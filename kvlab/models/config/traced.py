"""From a config to a shape: the net is built lazily, its caches are made, and one small forward is traced without being run."""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvlab.models.config import weight_bytes
from kvlab.models.config.kinds_and_context import context_of, require_known
from kvlab.models.config.limits import require_sane
from kvlab.models.config.net import USUAL_TYPE, assumed, config_errors, lazy_net, number_type, same_random_state
from kvlab.models.config.provenance import FACT, GUESS, Provenance, SourcedShape
from kvlab.models.config.source import Config, read_config
from kvlab.models.config.weight_headers import require_whole
from kvlab.shape import LayerGroup, Shape

if TYPE_CHECKING:
    from mlx import nn

MOST_WEIGHTS = 2**50
"""Weights of more bytes (1 PiB) are no model."""

DRAFT_FIELDS = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers", "mtp_num_layers")
"""How configs call their number of draft (multi-token prediction) layers."""


def shape_from_config(source: Path | dict[str, Any], name: str = "", dtype: str | None = None, where: str = "", *, as_run: bool = False) -> SourcedShape:
    """Return the shape of the model that a config describes. No weight is read, drawn or evaluated, whatever the model's size.

    Args:
        source: A config.json, a folder that holds one, or a config's fields. If the folder also holds the weights, their number types and
            their bytes are read from their files' headers.
        name: How the model is called; by default the folder's name.
        dtype: The number type to count in, as if the weights were cast; by default the config's own.
        where: What errors call the place that fields came from; by default the name.
        as_run: True: what views pin is what they pin in mlx-lm's class, as `kvlab.open` runs it. By default every convolution's state is
            taken for a view of its input, as in Ollama's runner (`capture_as=view`): the shape serves any runner of the model.

    Raises:
        UnreadableInput: the file cannot be read.
        BadValue: a field is missing or cannot be used; the error names the file, the field and its value.
        NotAvailable: a layer's cache is of a class that kvlab has no rules for.
    """
    config = Config(where=where or name or "config", data=source) if isinstance(source, dict) else read_config(source)
    require_known(config)
    require_sane(config)
    found = number_type(config)
    files = weight_bytes.weight_files(config) if dtype is None else []
    with same_random_state():
        if files:
            require_whole(files)
            net = weight_bytes.net_of_files(config)
            weights = weight_bytes.from_files(net, files)
        else:
            net = lazy_net(config, dtype or found or USUAL_TYPE)
            packing = weight_bytes.quantise(net, config)
            weights = weight_bytes.from_index(config) or weight_bytes.from_shapes(net, config, dtype or found or USUAL_TYPE, packing)
        groups = _groups(net, config, as_run=as_run)
    bytes_of_weights, weights_from = weights
    if bytes_of_weights > MOST_WEIGHTS:
        why = f"with the other sizes the weights would take {bytes_of_weights} bytes"
        raise config.bad("hidden_size", config.text.get("hidden_size"), why, "correct the sizes")
    priced = _priced_by(net, config, known=bool(files or dtype or found))
    return _with_drafts(config, _Parts(name or _name(config), groups, bytes_of_weights, weights_from, priced))


class _Parts:
    """What has been read so far."""

    def __init__(self, name: str, groups: tuple[LayerGroup, ...], weights: int, weights_from: Provenance, priced: Provenance) -> None:
        self.name = name
        self.groups = groups
        self.weights = weights
        self.weights_from = weights_from
        self.priced = priced


def _groups(net: nn.Module, config: Config, *, as_run: bool) -> tuple[LayerGroup, ...]:
    from mlx_lm.models.cache import make_prompt_cache

    from kvlab.models.shape_of import groups_of

    with config_errors(config):
        groups = groups_of(net, make_prompt_cache(net), config.where, evaluate=False, as_run=as_run)
    if not any(group.bytes_per_token or group.state_bytes for group in groups):
        raise config.bad("model_type", config.data.get("model_type"), "no layer of that net keeps anything: there is nothing to predict", "give another model")
    return groups


def _priced_by(net: nn.Module, config: Config, *, known: bool) -> Provenance:
    """Return where the layers' prices come from: a fact when the config has every field that they depend on."""
    traced = f"mlx-lm's {config.data['model_type']}, traced with the fields of {Path(config.where).name}"
    left = assumed(net, config)
    doubts = [
        *([f"it gives no number type, {USUAL_TYPE} is assumed"] if not known else []),
        *([f"left to mlx-lm's defaults: {', '.join(left)}"] if left else []),
    ]
    return Provenance(GUESS if doubts else FACT, "; ".join([traced, *doubts]))


def _with_drafts(config: Config, parts: _Parts) -> SourcedShape:
    context, context_from = _context(config)
    provenance = {group.kind: parts.priced for group in parts.groups} | {"weights_bytes": parts.weights_from, "context": context_from}
    groups, look_ahead = parts.groups, 0
    field, number = _draft_layers(config)
    own = 1 + max(layer for group in groups for layer in group.layers)
    if number and own <= _layers_of(config):
        group = _draft_group(groups, number, own)
        if group is not None:
            groups, look_ahead = (*groups, group), 1
            words = f"{field} = {number}; mlx-lm does not build it: at the price of a full-attention layer, for a server that drafts"
            provenance |= {"draft_kv": Provenance(GUESS, words), "look_ahead": Provenance(GUESS, f"1, because of {field}")}
    provenance.setdefault("look_ahead", Provenance(FACT, "no draft layers in the config"))
    shape = Shape(name=parts.name, groups=groups, weights_bytes=parts.weights, context=context, look_ahead=look_ahead)
    return SourcedShape(shape, provenance)


def _draft_layers(config: Config) -> tuple[str, int]:
    """Return the field that names draft layers and their number; ("", 0) when none does.

    mlx-lm does not build them; a server that drafts tokens keeps a full-attention layer more for each.
    """
    for field in DRAFT_FIELDS:
        number = config.text.get(field)
        if isinstance(number, int) and number > 0:
            return field, number
    return "", 0


def _draft_group(groups: Sequence[LayerGroup], number: int, first: int) -> LayerGroup | None:
    """Return `number` draft layers, each at the price of the last layer of full attention; None when there is none to go by.

    Args:
        groups: The model's own layers.
        number: Draft layers.
        first: The index that the first of them gets.
    """
    attention = [group for group in groups if group.kind == "kv"]
    if not attention:
        return None
    last = max(layer for group in attention for layer in group.layers)
    # a composite layer has several parts with a slot a token
    price = sum(group.bytes_per_token // len(group.layers) * group.layers.count(last) for group in attention)
    step = next(group.growth_step for group in attention if last in group.layers)
    return LayerGroup(kind="draft_kv", layers=tuple(range(first, first + number)), bytes_per_token=price * number, growth_step=step)


def _layers_of(config: Config) -> int:
    from kvlab.models.config.limits import LAYER_FIELDS

    return max(int(config.text.get(name) or 0) for name in LAYER_FIELDS)


def _context(config: Config) -> tuple[int, Provenance]:
    field, tokens = context_of(config)
    return tokens, Provenance(FACT, f"{field} of the config") if field else Provenance(GUESS, "the config gives no context")


def _name(config: Config) -> str:
    return config.folder.resolve().name if config.folder is not None and Path(config.where).name == "config.json" else Path(config.where).stem
