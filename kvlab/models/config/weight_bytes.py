"""How many bytes a model's weights take, without loading them: from the headers of their files, from an index, or from the parameters' shapes."""

# pyright: standard
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kvlab.errors import UnreadableInput
from kvlab.models.config.net import config_errors
from kvlab.models.config.packing import UNPACKED, packing_of
from kvlab.models.config.provenance import FACT, GUESS, Provenance
from kvlab.models.config.source import Config

if TYPE_CHECKING:
    from mlx import nn

INDEX = "model.safetensors.index.json"


def weight_files(config: Config) -> list[Path]:
    """Return the safetensors files in the config's folder, if it has all that the index names."""
    if config.folder is None:
        return []
    files = sorted(config.folder.glob("model*.safetensors"))
    index = _index(config.folder)
    wanted = set(cast("dict[str, str]", index.get("weight_map", {})).values()) if index else set[str]()
    return files if wanted <= {file.name for file in files} else []


def net_of_files(config: Config) -> nn.Module:
    """Return the net of the folder's files as mlx-lm loads it, no byte of its weights read.

    Raises:
        BadValue: mlx-lm cannot load it.
        UnreadableInput: a file is damaged.
    """
    from mlx_lm.utils import load_model

    try:
        with config_errors(config):
            net, _ = load_model(Path(config.where).parent, lazy=True)
    except Exception as error:
        if "safetensors" in str(error):
            raise UnreadableInput(
                what=f"the weights next to {config.where} cannot be read", why=str(error).splitlines()[0], hint="get the files anew"
            ) from error
        raise
    return net


def quantise(net: nn.Module, config: Config) -> str:
    """Pack the weights of `net` lazily as the config says; return how in words, "" when it says nothing.

    Raises:
        BadValue: the config's packing cannot be used.
    """
    from mlx import nn as layers

    packing = packing_of(config)
    if packing is None:
        return ""
    if packing.unpacked:
        return f"{packing.unpacked}: {UNPACKED}"
    own = getattr(net, "quant_predicate", None)

    def packed(path: str, module: Any) -> bool | dict[str, Any]:
        if path in packing.of_parts:
            return packing.of_parts[path]
        if not hasattr(module, "to_quantized") or module.weight.shape[-1] % packing.group_size:
            return False
        if packing.method == "mxfp4":
            # what the config's own list excludes is everything but the experts
            return type(module).__name__ == "SwitchLinear"
        if packing.foreign:
            # others pack the layers alone: no embedding, no output head, and nothing that they name
            return "Linear" in type(module).__name__ and "lm_head" not in path and not any(name in path for name in packing.left_alone)
        return own is None or own(path, module)

    with config_errors(config):
        layers.quantize(net, group_size=packing.group_size, bits=packing.bits, mode=packing.mode, class_predicate=packed)
    return packing.words


def parameter_bytes(net: nn.Module, *, head_is_tied: bool = False) -> int:
    """Return the bytes of all parameters by their shapes; without an output head of its own if that is tied to the embedding."""
    from mlx.utils import tree_flatten

    named = cast("list[tuple[str, Any]]", tree_flatten(net.parameters()))
    return sum(array.nbytes for name, array in named if not (head_is_tied and "lm_head" in name.split(".")))


def from_index(config: Config) -> tuple[int, Provenance] | None:
    """Return the bytes of the weights according to the folder's index; None when there is no index."""
    index = _index(config.folder) if config.folder else {}
    total = cast("Mapping[str, Any]", index.get("metadata", {})).get("total_size")
    if not isinstance(total, int) or total < 1:
        return None
    return total, Provenance(GUESS, f"total_size of {INDEX}: it may hold weights that mlx-lm does not load")


def from_files(net: nn.Module, files: list[Path]) -> tuple[int, Provenance]:
    """Return the bytes of a net that was loaded lazily from `files`."""
    return parameter_bytes(net), Provenance(FACT, f"the tensors that mlx-lm loads of {len(files)} safetensors file{'' if len(files) == 1 else 's'}")


def from_shapes(net: nn.Module, config: Config, dtype: str, packing: str) -> tuple[int, Provenance]:
    """Return the bytes of the parameters by their shapes, with how they are packed."""
    # Gemma's head is tied unless the config says otherwise; mlx-lm builds one and drops it when no weight comes for it
    tied = config.text.get("tie_word_embeddings", str(config.data.get("model_type")).startswith("gemma"))
    return parameter_bytes(net, head_is_tied=bool(tied)), Provenance(
        GUESS, f"the parameters' shapes, {dtype}" + (f", {packing}" if packing else ", not quantised")
    )


def _index(folder: Path) -> dict[str, Any]:
    file = folder / INDEX
    if not file.is_file():
        return {}
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableInput(what=f"{file} cannot be read", why=str(error), hint="get the file anew, or remove it") from None
    if not isinstance(data, dict):
        raise UnreadableInput(what=f"{file} holds no index", why="an index is an object with weight_map", hint="get the file anew, or remove it")
    return cast("dict[str, Any]", data)
