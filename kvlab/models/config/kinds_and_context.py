"""Fields of a config that are not sizes: the language model's own fields, the kinds of its layers, and how many tokens it holds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import cast

from kvlab.models.config.limits import LAYER_FIELDS
from kvlab.models.config.source import Config

CONTEXT_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx", "model_max_length")
"""How configs call the tokens that a model holds; the first that is given counts."""

MOST_CONTEXT = 2**40
"""A context of this many tokens or more means no limit: tokenizers write 10^30."""

LAYER_TYPES = frozenset(
    {
        *("full_attention", "sliding_attention", "chunked_attention", "window_attention", "linear_attention", "indexed_attention"),
        *("compressed_sparse_attention", "heavily_compressed_attention", "reference_sliding_attention", "minimax_m3_sparse"),
        *("attention", "conv", "mamba", "mlp", "moe", "dense", "sparse", "hybrid", "hybrid_sliding"),
    }
)
"""What public configs call a layer's kind. An architecture may have names of its own."""


def require_known(config: Config) -> None:
    """Check the fields of a config that are not sizes.

    Raises:
        BadValue: a text_config is no object or an empty one, `layer_types` is too short or has an unknown kind, or the context is no
            number of tokens.
    """
    inner: object = config.data.get("text_config")
    if inner is not None and (not isinstance(inner, dict) or not inner):
        raise config.bad(
            "text_config", cast("object", inner), "it is an object with the language model's fields", "give the config.json that came with the model"
        )
    _require_layer_types(config)
    for name in CONTEXT_FIELDS:
        value: object = config.text.get(name)
        whole = (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
        if value is not None and not (whole and cast("float", value) >= 1):
            raise config.bad(name, value, "it is a number of tokens, at least 1")


def context_of(config: Config) -> tuple[str, int]:
    """Return the field that gives the model's context in tokens, and its value; ("", 0) when none does."""
    for name in CONTEXT_FIELDS:
        value: object = config.text.get(name)
        if isinstance(value, int | float) and 0 < value < MOST_CONTEXT:
            return name, int(value)
    return "", 0


def _require_layer_types(config: Config) -> None:
    value: object = config.text.get("layer_types")
    if value is None:
        return
    if not isinstance(value, list):
        raise config.bad("layer_types", value, "it is a list of kinds, one a layer")
    kinds = cast("list[object]", value)
    unknown = [(place, kind) for place, kind in enumerate(kinds) if not isinstance(kind, str) or kind not in LAYER_TYPES]
    source = _source(config) if unknown else ""
    for place, kind in unknown:
        if not isinstance(kind, str) or f'"{kind}"' not in source:
            raise config.bad(f"layer_types[{place}]", kind, f"the kinds are {', '.join(sorted(LAYER_TYPES))}")
    layers = max((value for name in LAYER_FIELDS if isinstance(value := config.text.get(name), int)), default=0)
    if len(kinds) < layers:
        raise config.bad("layer_types", kinds, f"it has {len(kinds)} kinds for {layers} layers")


def _source(config: Config) -> str:
    """Return the text of the architecture's module, which may know kinds that no other one has; "" when there is none."""
    from mlx_lm.utils import MODEL_REMAPPING

    kind = str(config.data.get("model_type"))
    found = importlib.util.find_spec(f"mlx_lm.models.{MODEL_REMAPPING.get(kind, kind)}") if kind.isidentifier() else None
    return Path(found.origin).read_text(encoding="utf-8") if found is not None and found.origin else ""
