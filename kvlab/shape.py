"""Shape: a model's layer kinds and prices, as plain data. Enough for the twin; no array, no model.

Layers of one kind and one price move together, so a shape lists groups of layers, in the order in which the kinds first appear.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from kvlab.errors import BadValue, shown
from kvlab.typed_json import Count, require_known, typed
from kvlab.units import binary
from kvlab.visible_text import visible

KINDS = ("kv", "rotating", "recurrent", "stateless", "draft_kv", "hidden")
"""The layer kinds: full attention, sliding window, recurrent state, no state at all, a draft head's full attention, the backbone's hidden states."""

WHOLE_STATE = frozenset({"rotating", "recurrent"})
"""The layer kinds that can be restored only from a checkpoint."""

KV_KINDS = frozenset({"kv", "draft_kv"})
"""The layer kinds whose buffers have a slot a token and room to grow."""

TOKEN_KINDS = KV_KINDS | {"hidden"}
"""The layer kinds that keep something of every token: their snapshots cover a node's edge. The others keep one whole state, or nothing."""

MOST = 2**50
"""Bytes and tokens of a shape are below it."""

Size = Annotated[int, Meta(ge=0, lt=MOST)]


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """Layers of one kind and one price.

    Attributes:
        kind: One of `KINDS`.
        layers: The layers' indices in the model, from 0.
        bytes_per_token: Bytes one token takes, summed over the group's layers; 0 for whole states.
        state_bytes: Bytes of one checkpoint, summed over the group's layers; that of a full window for `rotating`; 0 for kinds of `TOKEN_KINDS`.
        window: Tokens a sliding window keeps; 0 for none (a `rotating` group without one is a whole state of `state_bytes`).
        growth_step: Tokens by which a live buffer grows.
        conv_bytes_per_token: Bytes one row of the recurrent layers' convolution input takes: what a view pins per token of a forward.
        chunked: The window is a chunk: positions fall into chunks of `window`, and a token sees those of its own (llama4).
        round_states: Recurrent states that a round of speculative decoding leaves in one allocation: the tokens it evaluates less one; 0 without.

    Example:
        >>> import kvlab
        >>> print(kvlab.LayerGroup("kv", (0, 1), bytes_per_token=8192))
        2 layers of kind kv: 8.00 KiB a token
    """

    kind: str
    layers: Annotated[tuple[Count, ...], Meta(min_length=1)]
    bytes_per_token: Size = 0
    state_bytes: Size = 0
    window: Size = 0
    growth_step: Annotated[int, Meta(ge=1, lt=MOST)] = 256
    conv_bytes_per_token: Size = 0
    chunked: bool = False
    round_states: Size = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadValue(
                what=f"a layer cannot be of kind {self.kind!r}",
                why=f"the kinds are {', '.join(KINDS)}",
                hint="correct the kind",
            )
        for name in ("bytes_per_token", "state_bytes", "window", "growth_step", "conv_bytes_per_token", "round_states"):
            if getattr(self, name) < 0:
                raise BadValue(
                    what=f"a layer group's {name} is {getattr(self, name)}",
                    why="a size cannot be negative",
                    hint=f"give {name} as a whole number of at least 0",
                )
        if self.window and self.state_bytes and not self.bytes_per_token:
            raise BadValue(
                what=f"a layer group with a window of {self.window} tokens has {self.state_bytes} bytes a checkpoint and none a token",
                why="what a window's snapshot takes is its rows times the bytes of a token",
                hint="give bytes_per_token",
            )

    def __str__(self) -> str:
        """The group in words, such as `3 layers of kind recurrent: 57.00 KiB a checkpoint`."""
        prices = ((self.bytes_per_token, "a token"), (self.state_bytes, "a checkpoint"))
        prices_text = [f"{binary(size)} {per}" for size, per in prices if size] + ([f"window of {self.window:,} tokens"] if self.window else [])
        return f"{len(self.layers)} layer{'' if len(self.layers) == 1 else 's'} of kind {self.kind}: {', '.join(prices_text) or 'no bytes'}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model keeps per token and per checkpoint.

    Attributes:
        name: How the model is called.
        groups: Its layers, by kind and price.
        weights_bytes: Bytes of the weights once loaded.
        context: Tokens the model can hold; 0 when unknown.
        look_ahead: Look-ahead of a draft head in tokens: 0 or 1.

    Example:
        >>> import kvlab
        >>> shape = kvlab.Shape("mine", (kvlab.LayerGroup("kv", (0, 1), bytes_per_token=8192),))
        >>> kvlab.twin(shape).run("repeat:2", progress=False).requests["cached"].to_list()
        [0, 25]
    """

    name: str
    groups: tuple[LayerGroup, ...]
    weights_bytes: Size = 0
    context: Size = 0
    look_ahead: Annotated[int, Meta(ge=0, le=1)] = 0

    @property
    def bytes_per_token(self) -> int:
        """Bytes one token takes over all layers."""
        return sum(group.bytes_per_token for group in self.groups)

    @property
    def state_bytes(self) -> int:
        """Bytes of one checkpoint over all whole-state layers."""
        return sum(group.state_bytes for group in self.groups)

    @property
    def ignores(self) -> frozenset[str]:
        """The choices of a policy that no layer of this shape follows: those about draft layers, and about the states of speculative rounds."""
        drafts = any(group.kind == "draft_kv" for group in self.groups) or self.look_ahead > 0
        rounds = any(group.round_states for group in self.groups)
        return frozenset(() if drafts else ("draft_keys", "settle_draft")) | frozenset(() if rounds else ("draft_states",))

    def __str__(self) -> str:
        """The shape in words, a line a layer group; every figure with its unit."""
        context = f", context of {self.context:,} tokens" if self.context else ""
        ahead = ", a draft head with a look-ahead of 1 token" if self.look_ahead else ""
        head = f"Shape of {self.name}: weights {binary(self.weights_bytes)}{context}{ahead}"
        return visible("\n".join([head, *(f"  {group}" for group in self.groups)]))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001  # IPython's own signature
        del cycle
        printer.text(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the shape as JSON holds it."""
        return dataclasses.asdict(self) | {"groups": [_group_dict(group) for group in self.groups]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Shape:
        """Build a shape from what `to_dict` returned.

        Raises:
            BadValue: a layer group has a key that none has or no layer, or a value is of another type.
        """
        made = typed(data, cls)
        require_known(data, [one.name for one in dataclasses.fields(cls)], "a shape")
        for place, group in enumerate(made.groups):
            require_known(data["groups"][place], [one.name for one in dataclasses.fields(LayerGroup)], f"groups[{place}]")
            _require_even(f"groups[{place}].layers", group.layers)
        return made


def unit_groups(kinds: Sequence[str], token_bytes: int, state_bytes: int) -> tuple[LayerGroup, ...]:
    """Return the groups of layer kinds given in layer order: one a kind, in order of first appearance, each layer at the same price.

    Args:
        kinds: The kind of each layer.
        token_bytes: Bytes one token takes in one layer of `TOKEN_KINDS`.
        state_bytes: Bytes of one whole state of one layer of `WHOLE_STATE`.

    Raises:
        BadValue: there are no layers, or a kind is unknown.
    """
    if not kinds:
        raise BadValue(what="no layer kinds were given", why="a model has at least one layer", hint='write for example ["recurrent", "kv"]')
    groups: list[LayerGroup] = []
    for kind in dict.fromkeys(kinds):
        layers = tuple(index for index, one in enumerate(kinds) if one == kind)
        per_token, state = token_bytes * (kind in TOKEN_KINDS), state_bytes * (kind in WHOLE_STATE)
        groups.append(LayerGroup(kind, layers, per_token * len(layers), state * len(layers)))
    return tuple(groups)


def _require_even(name: str, layers: Sequence[int]) -> None:
    # a composite layer appears once for each of its parts of that price, as all layers of its kind do
    if len({layers.count(layer) for layer in layers}) > 1:
        why = "it is a list of layers' places in the model, whole numbers from 0, none of them more often than the others"
        raise BadValue(what=f"{name} is {shown(list(layers))}", why=why, hint="correct the list")


def _group_dict(group: LayerGroup) -> dict[str, Any]:
    held = dataclasses.asdict(group) | {"layers": list(group.layers)}
    if not group.round_states:
        # only a model with a draft head has it
        del held["round_states"]
    return held
