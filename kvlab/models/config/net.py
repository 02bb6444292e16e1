"""Builds the net that a config describes, lazily: every weight has a shape and a number type, none is drawn. Nothing global stays changed."""

# pyright: standard
from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from kvlab.errors import BadValue, KvlabError
from kvlab.models.config.source import Config

if TYPE_CHECKING:
    from mlx import nn

NUMBER_TYPES = {"bfloat16": "bfloat16", "float16": "float16", "half": "float16", "float32": "float32", "float": "float32"}
USUAL_TYPE = "bfloat16"
"""What models are published in when their config does not say."""

NO_MODELS = frozenset({"activations", "base", "bitlinear_layers", "cache", "gated_delta", "mla", "pipeline", "rope_utils", "ssm", "switch_layers"})
"""Modules of `mlx_lm.models` that hold parts of models."""

PRICED = re.compile(
    r"(layers?|heads?|head_dim|window|chunk_size|rank|interval|pattern|period|groups)$|kernel|d_conv|_state$|state_size|^(hidden_size|d_model)$"
)
"""Fields that the price of a token or of a checkpoint may depend on."""

SIZES = ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size")
"""Fields that have to fit together in nearly every architecture."""

HINT = "correct the sizes so that they fit together"


def number_type(config: Config) -> str | None:
    """Return the number type of the weights that the config gives; None when it gives none.

    Raises:
        BadValue: no weights are computed in that type.
    """
    for field in ("dtype", "torch_dtype"):
        value = config.text.get(field)
        if value is None:
            continue
        name = str(value).removeprefix("torch.")
        # packed weights of 8 bits and fewer are computed in the usual type
        if name not in NUMBER_TYPES and not name.startswith(("float8", "uint8", "int8")):
            raise config.bad(field, value, f"weights are computed in {', '.join(sorted(set(NUMBER_TYPES.values())))}")
        return NUMBER_TYPES.get(name, USUAL_TYPE)
    return None


def lazy_net(config: Config, dtype: str) -> nn.Module:
    """Return the net of `config` with weights of `dtype`, none of them evaluated, not yet quantised.

    Raises:
        BadValue: mlx-lm has no such architecture, a field that it needs is missing, or it cannot build a net of these fields.
    """
    import mlx.core as mx
    from mlx.utils import tree_map_with_path

    model_class, args_class = _classes(config)
    with config_errors(config):
        net: Any = model_class(args_class.from_dict(_copied(config.data)))
        cast = getattr(net, "cast_predicate", lambda _: True)

        def as_stored(path: str, array: mx.array) -> mx.array:
            return array.astype(getattr(mx, dtype)) if cast(path) and mx.issubdtype(array.dtype, mx.floating) else array

        net.update(tree_map_with_path(as_stored, net.parameters()))
        net.eval()
    return net


def architectures() -> list[str]:
    """Return every model_type that mlx-lm reads, sorted."""
    import mlx_lm.models
    from mlx_lm.utils import MODEL_REMAPPING

    own = {one.name for one in pkgutil.iter_modules(mlx_lm.models.__path__)} - NO_MODELS
    return sorted(own | set(MODEL_REMAPPING))


def assumed(net: nn.Module, config: Config) -> list[str]:
    """Return the fields that a price may depend on and that the config leaves to mlx-lm's defaults, sorted."""
    holders: list[Any] = [net, getattr(net, "language_model", None), getattr(net, "model", None)]
    found: set[str] = set()
    for holder in holders:
        fields = getattr(getattr(holder, "args", None), "__dataclass_fields__", {})
        for name, field in fields.items():
            default = field.default
            if PRICED.search(name) and isinstance(default, int | float) and not isinstance(default, bool) and name not in config.text:
                found.add(name)
    return sorted(found)


@contextlib.contextmanager
def config_errors(config: Config) -> Iterator[None]:
    """Turn whatever mlx-lm raises over a config into an error that names the file."""
    try:
        yield
    except KvlabError:
        raise
    except KeyError as error:
        raise config.missing(str(error.args[0]) if error.args else "a field", f"mlx-lm needs it for model_type {config.data.get('model_type')!r}") from error
    # an architecture that lacks a package of its own ends the interpreter
    except (Exception, SystemExit) as error:
        missing = re.search(r"missing \d+ required \w+ arguments?: '(\w+)'", str(error))
        if missing:
            raise config.missing(missing[1], f"mlx-lm needs it for model_type {config.data.get('model_type')!r}") from error
        raise _not_built(config, error) from error


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Leave MLX's random state as it was: a net draws its weights from it, even if they are never evaluated."""
    import mlx.core as mx

    high, low = cast("Any", mx.random.state)[0].tolist()
    try:
        yield
    finally:
        # a key is the two halves of its seed, and there is no other way to put one back
        mx.random.seed(high << 32 | low)


def _classes(config: Config) -> tuple[Any, Any]:
    """Return an architecture's classes of nets and of arguments."""
    from mlx_lm.utils import _get_classes

    kind = config.data.get("model_type")
    if kind is None:
        raise config.missing("model_type", "it names the architecture")
    known = architectures()
    if not isinstance(kind, str) or kind not in known:
        near = difflib.get_close_matches(str(kind), known, n=1)
        raise config.bad(
            "model_type",
            kind,
            f"mlx-lm has no architecture of that name among its {len(known)}",
            f"did you mean {near[0]}?" if near else "give a model that mlx-lm knows, or a Shape",
        )
    if config.data.get("model_file") is not None:
        raise config.bad("model_file", config.data["model_file"], "code that comes with a model is not run", "give a model of an architecture that mlx-lm has")
    with config_errors(config):
        model_class, args_class = _get_classes(config.data)
    for name, parameter in inspect.signature(args_class).parameters.items():
        # some read the fields of a text_config that is not there from the top
        if parameter.default is parameter.empty and name not in config.data and name != "text_config":
            raise config.missing(name, f"mlx-lm needs it for model_type {kind!r}")
    return model_class, args_class


def _not_built(config: Config, error: BaseException) -> BadValue:
    """Return the error for a net that mlx-lm cannot build or run. It names the field at fault where one can be found, else the fields that were read.

    The field is found afterwards, so nothing that mlx-lm accepts is refused.
    """
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"
    for name, value, why in _at_fault(config):
        return config.bad(name, value, f"{why}; mlx-lm says {reason}")
    heads, shared = config.text.get("num_attention_heads"), config.text.get("num_key_value_heads")
    if isinstance(heads, int) and isinstance(shared, int) and shared > 0 and heads % shared:
        return config.bad("num_key_value_heads", shared, f"num_attention_heads is {heads}, which is no multiple of it; mlx-lm says {reason}", HINT)
    read = ", ".join(f"{name} {config.text[name]!r}"[:60] for name in SIZES if name in config.text) or "those that are there"
    kind = config.data.get("model_type")
    return BadValue(f"{config.where}: its fields make no net of mlx-lm's {kind!r}", f"it was read with {read}; mlx-lm says {reason}", HINT)


def _at_fault(config: Config) -> Iterator[tuple[str, object, str]]:
    for field in _declared(config):
        if field.name not in config.text:
            continue
        value = config.text[field.name]
        if value is None and field.default is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if field.type in (int, "int") and not (number and float(cast("float", value)).is_integer()):
            yield field.name, value, "it is a whole number"
        if field.type in (float, "float") and not (number and math.isfinite(cast("float", value))):
            yield field.name, value, "it is a number"


def _declared(config: Config) -> Iterator[dataclasses.Field[Any]]:
    """Yield the fields that the architecture's module declares; the module was imported when its net was built."""
    from mlx_lm.utils import MODEL_REMAPPING

    kind = str(config.data.get("model_type"))
    module = sys.modules.get(f"mlx_lm.models.{MODEL_REMAPPING.get(kind, kind)}")
    for held in vars(module).values() if module is not None else ():
        if isinstance(held, type) and dataclasses.is_dataclass(held):
            yield from dataclasses.fields(held)


def _copied(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields as a copy: some architectures change what they are given."""
    import copy

    return copy.deepcopy(data)
