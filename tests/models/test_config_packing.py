"""Weights that a config says are packed: counted as packed when it tells how, else the card says that they are counted unpacked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvlab.errors import BadValue
from kvlab.lab import open_twin
from kvlab.models.config import SourcedShape, shape_from_config
from kvlab.views.shape_card import shape_card

SIZE, LAYERS, VOCABULARY, INNER = 256, 2, 512, 768
LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": SIZE,
    "num_hidden_layers": LAYERS,
    "intermediate_size": INNER,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
}
# four square matrices of attention and three of the feed-forward part a layer; the rest are embedding, head and norms
IN_LAYERS = LAYERS * (4 * SIZE * SIZE + 3 * SIZE * INNER)
REST = 2 * VOCABULARY * SIZE + (2 * LAYERS + 1) * SIZE
UNPACKED = 2 * (IN_LAYERS + REST)


def shape(folder: Path, packing: object, **more: object) -> SourcedShape:
    path = folder / "config.json"
    path.write_text(json.dumps(LLAMA | {"quantization_config": packing} | more))
    return shape_from_config(path)


def packed(bits: int, group: int, scale_bytes: int = 4) -> int:
    # mlx keeps a scale and a bias of two bytes each for every group
    return IN_LAYERS * bits // 8 + IN_LAYERS // group * scale_bytes + 2 * REST


@pytest.mark.parametrize(
    ("packing", "size", "words"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": True}, packed(4, 128), "4 bits, 128 numbers to a scale (awq)"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, packed(4, 64), "4 bits, 64 numbers to a scale (awq)"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, packed(8, 128), "8 bits, 128 numbers to a scale (gptq)"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, packed(4, 128), "128 numbers are a guess, its group_size is -1"),
        ({"quant_method": "awq", "bits": 4}, packed(4, 128), "128 numbers are a guess, its group_size is None"),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "ignore": ["lm_head"],
                "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "group_size": 32}}},
            },
            packed(4, 32),
            "4 bits, 32 numbers to a scale (compressed-tensors)",
        ),
        # FP8 with a scale of one byte for 32 numbers
        ({"quant_method": "fp8", "scale_fmt": "ue8m0", "weight_block_size": [32, 32]}, packed(8, 32, 1), "8 bits, 32 numbers to a scale (fp8)"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, packed(4, 16, 1), "4 bits, 16 numbers to a scale (modelopt)"),
    ],
)
def test_weights_are_counted_as_packed_when_the_config_tells_how(tmp_path: Path, packing: dict[str, Any], size: int, words: str) -> None:
    found = shape(tmp_path, packing)
    assert found.shape.weights_bytes == size
    assert words in found.provenance["weights_bytes"].source
    assert "counted unpacked" not in shape_card(open_twin(tmp_path / "config.json"))


def test_parts_that_the_config_leaves_alone_stay_unpacked(tmp_path: Path) -> None:
    packing = {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["self_attn"]}
    attention = LAYERS * 4 * SIZE * SIZE
    assert shape(tmp_path, packing).shape.weights_bytes == packed(4, 128) + 2 * attention - attention // 2 - attention // 128 * 4


@pytest.mark.parametrize(
    ("packing", "words"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"}, "packed by fp8, which mlx-lm unpacks as it loads: counted unpacked"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "packed by bitsandbytes, which gives no bits: counted unpacked"),
        ({"quant_method": "awq", "bits": 7, "group_size": 128}, "with 7 bits and 128 numbers to a scale, which mlx does not pack: counted unpacked"),
        ({"quant_method": "compressed-tensors", "format": "float-quantized"}, "packed by compressed-tensors, which gives no bits: counted unpacked"),
    ],
)
def test_else_the_plateau_says_that_they_are_counted_unpacked(tmp_path: Path, packing: dict[str, Any], words: str) -> None:
    found = shape(tmp_path, packing)
    assert found.shape.weights_bytes == UNPACKED
    assert words in found.provenance["weights_bytes"].source
    card = shape_card(open_twin(tmp_path / "config.json", open_twin("smollm2").policy.replace(budget_bytes=2**20)))
    assert "(weights counted unpacked, live buffers and budget)" in card


@pytest.mark.parametrize(("field", "value"), [("bits", "four"), ("bits", 0), ("group_size", 0), ("group_size", "all")])
def test_sizes_that_are_none_are_named(tmp_path: Path, field: str, value: object) -> None:
    with pytest.raises(BadValue, match=f"{field} is {value!r}"):
        shape(tmp_path, {"quant_method": "awq", "bits": 4, "group_size": 128, field: value})
