"""Which field of a config is at fault when mlx-lm cannot build or run its net: found afterwards, so nothing that mlx-lm takes is refused."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterator
from typing import Any, cast

from kvlab.errors import BadValue
from kvlab.models.config.source import Config

SIZES = ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size")
"""Fields that have to fit together in nearly every architecture."""

HINT = "correct the sizes so that they fit together"


def not_built(config: Config, error: BaseException) -> BadValue:
    """Return what to tell about a net that could not be built: the field at fault where one can be named, else the fields that were read."""
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
