"""Which sizes a config may have. A size outside these bounds is an error before a net is built, so that no config makes kvlab work without bound.

The bounds are far beyond any public model. Fields of other towers (vision, audio) are left alone: mlx-lm does not read them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from kvlab.models.config.source import Config

MOST_LAYERS = 1_000
MOST_HEADS = 65_536
MOST_WINDOW = 2**31 - 1
MOST_SIZE = 2**24
MOST_COUNT = 4_096
MOST_DEPTH = 16

LAYER_FIELDS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")
"""How architectures call their number of layers."""

AT_LEAST_ONE = re.compile(
    "|".join(f"^{name}$" for name in LAYER_FIELDS)
    + r"|^(hidden_size|d_model|n_embd|model_dim|vocab_size|n_head|sliding_window|sliding_window_size|attention_chunk_size)$"
    + r"|(n|num|attention|value|kv|key|query)_heads$|head_dim$|_d_head$|d_state$|state_size$"
    + r"|(conv_kernel|kernel_size|kernel_dim|d_conv|conv_L_cache|n_groups|lora_rank)$"
)
"""Fields that are a whole number of at least 1 wherever they are given: MLX divides by some of them, and a division by 0 ends the process."""

ALWAYS_ONE_NUMBER = ("hidden_size", "vocab_size")
"""Fields that no architecture reads as a list, one number a layer, or leaves empty."""

OTHER_TOWERS = re.compile(r"vision|audio|image|video|speech|id2label|label2id|task_specific|quantization|compression")
SMALL_ADDEND = re.compile(r"(^|_)(eps|epsilon)$")
"""What a norm adds to what it divides by."""

NO_UPPER_LIMIT = "time_step_limit[1]"
"""A state-space net's time steps may have no upper limit; transformers writes that as Infinity."""

NO_SIZE = re.compile(r"_ids?$|_idxs?$|_index$|token(?!s)|position|context|length|theta|base|seed|factor|scal|multiplier|beta|eps|n_ctx")


@dataclass(frozen=True, slots=True)
class Bound:
    """What fields of one kind may be: names that match, and the largest value."""

    names: re.Pattern[str]
    most: int
    what: str


BOUNDS = (
    Bound(re.compile(r"layers?$|loops?$|depth$|^n_layer|pattern|interval|period|layer_freq|replace$"), MOST_LAYERS, "layers"),
    Bound(re.compile(r"window|chunk"), MOST_WINDOW, "tokens of a window"),
    Bound(re.compile(r"_size|_dim|_rank|_inner|dim_|_state|^d_|^n_embd$|^mamba_d_|_ssm$"), MOST_SIZE, "numbers along one side"),
    Bound(re.compile(r"heads?$|^n_head|groups?$|experts?($|_)"), MOST_HEADS, "heads, groups or experts"),
    Bound(re.compile(r"^num_|^n_|_num$|_count$|_iters$|_kernel|_cache$|_split"), MOST_COUNT, "parts"),
)
"""First match wins; a number of another name is not a size that a net is built from."""


def require_sane(config: Config) -> None:
    """Check every size in `config`.

    Raises:
        BadValue: a size is negative, no whole number, or absurdly large; a number is NaN or infinite; or no field gives the number of layers.
    """
    for place, value in numbers(config.data):
        # the one field that public configs give an infinite bound
        if not math.isfinite(value) and not (value == math.inf and place.rpartition(".")[2] == NO_UPPER_LIMIT):
            raise config.bad(place, value, "a config's numbers are finite: JSON has no NaN and no Infinity")
    for place, name, value in _fields(config.data):
        _check(config, place, name, value)
        _check_number(config, place, name, value)
    inner = "text_config." if isinstance(config.data.get("text_config"), dict) else ""
    for name in ALWAYS_ONE_NUMBER:
        # a config of several towers may leave its own empty: then its text_config counts
        value: object = config.text.get(name, 1)
        if not _whole(value):
            raise config.bad(f"{inner}{name}", value, "it is a whole number of at least 1")
    if not any(config.text.get(name) is not None for name in LAYER_FIELDS):
        raise config.missing(LAYER_FIELDS[0], "a config gives the model's number of layers")


def numbers(data: object, within: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Yield every number that is no whole one in `data`, however deep in tables and lists, with its place such as `rope_scaling.short_factor[3]`."""
    if isinstance(data, float):
        yield within, data
    elif depth > MOST_DEPTH:
        return
    elif isinstance(data, dict):
        for name, value in cast("dict[str, Any]", data).items():
            yield from numbers(value, f"{within}.{name}" if within else name, depth + 1)
    elif isinstance(data, list):
        for place, value in enumerate(cast("list[Any]", data)):
            yield from numbers(value, f"{within}[{place}]", depth + 1)


def _fields(data: dict[str, Any], within: str = "", depth: int = 0) -> Iterator[tuple[str, str, object]]:
    for name, value in data.items():
        if depth > MOST_DEPTH or OTHER_TOWERS.search(name):
            continue
        if isinstance(value, dict):
            yield from _fields(cast("dict[str, Any]", value), f"{within}{name}.", depth + 1)
        else:
            yield f"{within}{name}", name, value


def _check(config: Config, place: str, name: str, value: object) -> None:
    if AT_LEAST_ONE.search(name) and value is not None and not isinstance(value, list) and (not _whole(value) or cast("int", value) < 1):
        raise config.bad(place, value, "it is a whole number of at least 1")
    if not isinstance(value, int | float) or isinstance(value, bool) or NO_SIZE.search(name):
        return
    for bound in BOUNDS:
        if bound.names.search(name):
            if not 0 <= value <= bound.most:
                raise config.bad(place, value, f"a model has from 0 to {bound.most} {bound.what}")
            return


def _check_number(config: Config, place: str, name: str, value: object) -> None:
    if SMALL_ADDEND.search(name) and value is not None and not (_number(value) and 0 <= cast("float", value) < math.inf):
        raise config.bad(place, value, "it is a number of at least 0")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
