"""The fields of a config that are not sizes, weights that are damaged, and files that are no config."""

from __future__ import annotations

import codecs
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from kvlab import shipped
from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.lab.shapes import find_shape, shape_of_fields
from kvlab.models.config import shape_from_config
from tests.models.configs import LLAMA

MIXED = LLAMA | {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]}


def told(file: Path, fields: dict[str, Any]) -> KvlabError:
    file.write_text(json.dumps(fields))
    with pytest.raises(BadValue) as caught:
        shape_from_config(file)
    assert str(file) in caught.value.what
    return caught.value


@pytest.mark.parametrize("value", [-5, 0, "32k", 1.5, True, [4096], {}])
@pytest.mark.parametrize("field", ["max_position_embeddings", "n_positions"])
def test_a_context_that_is_no_number_of_tokens(file: Path, field: str, value: object) -> None:
    assert f"{field} is {value!r}" in told(file, LLAMA | {field: value}).what


@pytest.mark.parametrize(("value", "tokens"), [(32768, 32768), (32768.0, 32768), (None, 0), (10**30, 0), (1e30, 0)])
def test_a_context_and_what_stands_for_none(file: Path, value: object, tokens: int) -> None:
    file.write_text(json.dumps(LLAMA | {"max_position_embeddings": value}))
    assert shape_from_config(file).shape.context == tokens


@pytest.mark.parametrize("value", ["hello", {}, [], 3])
def test_a_text_config_that_holds_no_fields(file: Path, value: object) -> None:
    assert f"text_config is {value!r}" in told(file, LLAMA | {"text_config": value}).what
    assert f"text_config is {value!r}" in told(file, {"model_type": "gemma3", "text_config": value}).what


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["full_attention"], ("layer_types is ['full_attention']", "1 kinds for 2 layers")),
        ([], ("layer_types is []", "0 kinds for 2 layers")),
        (["full_attention", "bananas"], ("layer_types[1] is 'bananas'", "sliding_attention")),
        (["full_attention", 3], ("layer_types[1] is 3",)),
        ("full_attention", ("layer_types is 'full_attention'", "list")),
    ],
)
def test_layer_types_that_do_not_tell_every_layers_kind(file: Path, value: object, words: tuple[str, ...]) -> None:
    error = told(file, MIXED | {"layer_types": value})
    for word in words:
        assert word in str(error)
    assert "layer_types" in told(file, {"model_type": "gemma3", "text_config": MIXED | {"layer_types": value}}).what


def test_layer_types_as_they_should_be(file: Path) -> None:
    file.write_text(json.dumps(MIXED))
    assert {group.kind for group in shape_from_config(file).shape.groups} == {"kv", "rotating"}
    file.write_text(json.dumps(LLAMA | {"layer_types": None}))
    assert {group.kind for group in shape_from_config(file).shape.groups} == {"kv"}


def test_a_byte_order_mark_is_left_out(file: Path) -> None:
    file.write_bytes(codecs.BOM_UTF8 + json.dumps(LLAMA).encode())
    assert shape_from_config(file).shape == find_shape(file).shape


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with weights of a few bytes, as a download leaves it."""
    mlx = pytest.importorskip("mlx.core")
    flatten = pytest.importorskip("mlx.utils").tree_flatten
    llama = pytest.importorskip("mlx_lm.models.llama")
    net = llama.Model(llama.ModelArgs.from_dict(LLAMA))
    mlx.save_safetensors(str(tmp_path / "model.safetensors"), dict(flatten(net.parameters())))
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    return tmp_path


def damaged(folder: Path, data: bytes) -> UnreadableInput:
    file = folder / "model.safetensors"
    file.write_bytes(data)
    with pytest.raises(UnreadableInput) as caught:
        shape_from_config(folder)
    assert caught.value.what == f"{file}: the file's header is damaged"
    return caught.value


def test_weights_whose_header_is_damaged_are_told_as_that(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    assert shape_from_config(folder).shape.weights_bytes == len(whole) - 8 - length
    assert "takes 8" in damaged(folder, b"").why
    assert "the header has" in damaged(folder, b"\xff" * len(whole)).why
    assert "no JSON" in damaged(folder, whole[:8] + b"?" * length + whole[8 + length :]).why
    assert "no object" in damaged(folder, struct.pack("<Q", 2) + b"[]").why
    assert "was cut short" in damaged(folder, whole[:-100]).why
    assert "Git LFS" in damaged(folder, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n").why
    assert "gives no position" in damaged(folder, struct.pack("<Q", 11) + b'{"a": {}}  ').why


def test_a_case_given_as_a_shape_says_so(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    shutil.copy(Path(__file__).parents[1] / "cases" / "budget_short_unrelated_15.json", path)
    with pytest.raises(BadValue, match=r"case\.json is a case, not a shape") as caught:
        find_shape(path)
    assert "kvlab twin" in caught.value.hint
    with pytest.raises(BadValue, match="is a case, not a shape"):
        shape_of_fields(json.loads(path.read_text()), "case.json")


def test_every_shipped_shape_is_still_read() -> None:
    for path in shipped.data("shapes").glob("*.json"):
        config = json.loads(path.read_text()).get("config")
        if config is not None:
            assert shape_from_config(config, name=path.stem).shape.groups
