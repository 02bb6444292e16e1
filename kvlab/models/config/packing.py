"""How a config says that its weights are packed: bits a number and numbers to a scale, in mlx's own words or in those of other packers.

mlx-lm loads AWQ, GPTQ, compressed-tensors and ModelOpt weights packed and counts them so; it unpacks most FP8 weights as it loads them.
Source: mlx-lm's loading of models.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from kvlab.models.config.source import Config

PLAIN_MODES = {"affine": (64, 4), "mxfp4": (32, 4), "nvfp4": (16, 4), "mxfp8": (32, 8)}
"""Numbers that share a scale, and bits of a number, by mlx's name of the packing: what a config may leave out."""

CONTAINERS = {"pack-quantized": "affine", "nvfp4-pack-quantized": "nvfp4", "mxfp4-pack-quantized": "mxfp4"}
"""mlx's name of what compressed-tensors calls a format."""

AFFINE_BITS, AFFINE_SIZES = (2, 3, 4, 5, 6, 8), (32, 64, 128)
"""Bits a number and numbers to a scale that mlx packs."""

BITS = ("bits", "num_bits", "w_bit")
"""How packers call the bits of a number."""

USUAL_SIZE = 128
"""Numbers to a scale of AWQ and GPTQ when their config does not say, or says one scale a row."""

UNPACKED = "counted unpacked"
"""How every sentence on weights that are not counted as packed ends."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How weights are packed.

    Attributes:
        method: What the config calls it.
        bits: Bits a number.
        group_size: Numbers to a scale.
        mode: mlx's name of it.
        foreign: Another program packed them: layers only, without embedding and output head.
        guess: What was assumed because the config does not give it, in words; "" when nothing was.
        left_alone: Names of parts that stay unpacked.
        of_parts: How single parts are packed, by path.
        unpacked: Why they cannot be counted as packed; "" when they can.
    """

    method: str
    bits: int = 0
    group_size: int = 0
    mode: str = "affine"
    foreign: bool = False
    guess: str = ""
    left_alone: tuple[str, ...] = ()
    of_parts: dict[str, Any] = field(default_factory=dict[str, Any])
    unpacked: str = ""

    @property
    def words(self) -> str:
        """How they are packed, in words."""
        by = f" ({self.method})" if self.foreign or self.mode != "affine" else ""
        return f"{self.bits} bits, {self.group_size} numbers to a scale{by}{f'; {self.guess}' if self.guess else ''}"


def packing_of(config: Config) -> Packing | None:
    """Return how a config says that its weights are packed; None when it says nothing.

    Raises:
        BadValue: it is no object, or bits or group_size are no sizes.
    """
    value: object = next((found for name in ("quantization", "quantization_config") if (found := config.text.get(name)) is not None), None)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise config.bad("quantization", value, "it is an object with bits and group_size")
    packing = cast("dict[str, Any]", value)
    method = str(packing.get("quant_method", packing.get("mode", "affine")))
    if method in PLAIN_MODES:
        size, bits = (_positive(config, packing, name, usual) for name, usual in zip(("group_size", "bits"), PLAIN_MODES[method], strict=True))
        return Packing(method, bits, size, method, of_parts=packing)
    return _foreign(config, packing, method)


def _foreign(config: Config, packing: dict[str, Any], method: str) -> Packing:
    left_alone = tuple(name for key in ("modules_to_not_convert", "ignore") for name in _names(packing.get(key)))
    if method == "fp8":
        return _fp8(packing)
    mode = CONTAINERS.get(str(packing.get("format")), "") if method == "compressed-tensors" else "nvfp4" if _is_nvfp4(packing) else "affine"
    if mode in ("nvfp4", "mxfp4"):
        size, bits = PLAIN_MODES[mode]
        return Packing(method, bits, size, mode, foreign=True, left_alone=left_alone)
    inner = _weights_of_group(packing) if method == "compressed-tensors" else packing
    name = next((one for one in BITS if one in inner), "")
    if not mode or not name:
        return Packing(method, unpacked=f"packed by {method}, " + ("in a format that mlx-lm does not load" if name else "which gives no bits"))
    bits, given_size = _positive(config, inner, name, 0), inner.get("group_size")
    # GPTQ writes -1 for one scale a row
    size = USUAL_SIZE if given_size in (None, -1) else _positive(config, inner, "group_size", USUAL_SIZE)
    if bits not in AFFINE_BITS or size not in AFFINE_SIZES:
        return Packing(method, unpacked=f"packed by {method} with {bits} bits and {size} numbers to a scale, which mlx does not pack")
    guess = f"{USUAL_SIZE} numbers are a guess, its group_size is {given_size}" if given_size in (None, -1) else ""
    return Packing(method, bits, size, foreign=True, guess=guess, left_alone=left_alone)


def _fp8(packing: dict[str, Any]) -> Packing:
    if packing.get("scale_fmt") == "ue8m0" and packing.get("weight_block_size") == [32, 32]:
        size, bits = PLAIN_MODES["mxfp8"]
        return Packing("fp8", bits, size, "mxfp8", foreign=True)
    return Packing("fp8", unpacked="packed by fp8, which mlx-lm unpacks as it loads")


def _is_nvfp4(packing: dict[str, Any]) -> bool:
    inner: object = packing.get("quantization", packing)
    return isinstance(inner, dict) and cast("dict[str, object]", inner).get("quant_algo") == "NVFP4"


def _weights_of_group(packing: dict[str, Any]) -> dict[str, Any]:
    """Return how compressed-tensors packs the weights of its first group; an empty object when it does not say."""
    groups: object = packing.get("config_groups")
    for group in cast("dict[str, object]", groups).values() if isinstance(groups, dict) else ():
        weights: object = cast("dict[str, object]", group).get("weights") if isinstance(group, dict) else None
        if isinstance(weights, dict):
            return cast("dict[str, Any]", weights)
    return {}


def _names(value: object) -> list[str]:
    return [name for name in cast("list[object]", value) if isinstance(name, str) and not name.startswith("re:")] if isinstance(value, list) else []


def _positive(config: Config, packing: dict[str, Any], name: str, usual: int) -> int:
    value = packing.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1024:
        raise config.bad(f"quantization.{name}", value, "it is a whole number from 1 to 1024")
    return value
