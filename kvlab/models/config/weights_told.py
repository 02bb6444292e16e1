"""How many bytes a model's weights take, without loading them: of files that lie there, as an index tells, or of the parameters' shapes."""

# pyright: standard
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kvlab.errors import UnreadableInput
from kvlab.models.config.net import told
from kvlab.models.config.provenance import FACT, GUESS, Provenance
from kvlab.models.config.source import Config

if TYPE_CHECKING:
    from mlx import nn

INDEX = "model.safetensors.index.json"
PLAIN_MODES = {"affine": (64, 4), "mxfp4": (32, 4), "nvfp4": (16, 4), "mxfp8": (32, 8)}
"""Numbers that share a scale, and bits of a number, by mlx's name of the packing: what a config may leave out."""


def weight_files(config: Config) -> list[Path]:
    """Return the safetensors files beside the config, if all that the index names are there."""
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
        with told(config):
            net, _ = load_model(Path(config.where).parent, lazy=True)
    except Exception as error:
        if "safetensors" in str(error):
            raise UnreadableInput(
                what=f"the weights beside {config.where} cannot be read", why=str(error).splitlines()[0], hint="get the files anew"
            ) from error
        raise
    return net


def quantise(net: nn.Module, config: Config) -> str:
    """Pack the weights of `net` lazily as the config says; return how in words, "" when it says nothing.

    Raises:
        BadValue: the config's packing cannot be used.
    """
    from mlx import nn as layers

    packing = config.data.get("quantization") or config.data.get("quantization_config")
    if packing is None:
        return ""
    if not isinstance(packing, dict):
        raise config.bad("quantization", packing, "it is an object with bits and group_size")
    packing = cast("dict[str, Any]", packing)
    method = str(packing.get("quant_method", packing.get("mode", "affine")))
    if method not in PLAIN_MODES:
        return f"packed by {method}, which is left out of account: counted unpacked"
    size, bits = (_positive(config, packing, name, usual) for name, usual in zip(("group_size", "bits"), PLAIN_MODES[method], strict=True))
    own = getattr(net, "quant_predicate", None)

    def packed(path: str, module: Any) -> bool | dict[str, Any]:
        if path in packing:
            return packing[path]
        if not hasattr(module, "to_quantized") or module.weight.shape[-1] % size:
            return False
        if packing.get("quant_method") == "mxfp4":
            # what the config's own list excludes is everything but the experts
            return type(module).__name__ == "SwitchLinear"
        return own is None or own(path, module)

    with told(config):
        layers.quantize(net, group_size=size, bits=bits, mode=method, class_predicate=packed)
    return f"{bits} bits, {size} numbers to a scale" + ("" if method == "affine" else f" ({method})")


def weight_bytes(net: nn.Module, *, head_is_tied: bool = False) -> int:
    """Return the bytes of all parameters by their shapes; without an output head of its own if that is tied to the embedding."""
    from mlx.utils import tree_flatten

    named = cast("list[tuple[str, Any]]", tree_flatten(net.parameters()))
    return sum(array.nbytes for name, array in named if not (head_is_tied and "lm_head" in name.split(".")))


def told_by_index(config: Config) -> tuple[int, Provenance] | None:
    """Return the bytes that the folder's index of weights tells; None when there is none."""
    index = _index(config.folder) if config.folder else {}
    total = cast("Mapping[str, Any]", index.get("metadata", {})).get("total_size")
    if not isinstance(total, int) or total < 1:
        return None
    return total, Provenance(GUESS, f"total_size of {INDEX}: it may hold weights that mlx-lm does not load")


def told_by_files(net: nn.Module, files: list[Path]) -> tuple[int, Provenance]:
    """Return the bytes of a net that was loaded lazily from `files`."""
    return weight_bytes(net), Provenance(FACT, f"the tensors that mlx-lm loads of {len(files)} safetensors file{'' if len(files) == 1 else 's'}")


def told_by_shapes(net: nn.Module, config: Config, dtype: str, packing: str) -> tuple[int, Provenance]:
    """Return the bytes of the parameters by their shapes, with how they are packed."""
    # Gemma's head is tied unless told otherwise; mlx-lm builds one and drops it when no weight comes for it
    tied = config.text.get("tie_word_embeddings", str(config.data.get("model_type")).startswith("gemma"))
    return weight_bytes(net, head_is_tied=bool(tied)), Provenance(
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


def _positive(config: Config, packing: dict[str, Any], name: str, usual: int) -> int:
    value = packing.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1024:
        raise config.bad(f"quantization.{name}", value, "it is a whole number from 1 to 1024")
    return value
