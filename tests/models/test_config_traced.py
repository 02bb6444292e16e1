"""A net that is traced lazily has the shape of the same net with real arrays; folders with and without weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import pytest

from kvlab import shipped
from kvlab.errors import BadValue, NotAvailable, UnreadableInput
from kvlab.lab.shapes import find_shape
from kvlab.models.config import FACT, GUESS, shape_from_config
from kvlab.models.open import open_model
from kvlab.models.random_net import build
from kvlab.models.shape_of import shape_of
from tests.tools.conformance.configs import CONFIGS, config

MIXES = (
    "baichuan_m1",
    "deepseek_v3",
    "deepseek_v32",
    "falcon_h1",
    "gemma3",
    "gemma3n",
    "gemma4",
    "gpt_oss",
    "jamba",
    "kimi_linear",
    "lfm2",
    "llama",
    "llama4",
    "longcat_flash_ngram",
    "mamba",
    "nemotron-nas",
    "nemotron_h",
    "qwen3_5",
    "qwen3_5_moe",
    "recurrent_gemma",
    "rwkv7",
)
"""An architecture for each mix of caches that mlx-lm has."""


@pytest.mark.parametrize("architecture", MIXES)
def test_lazy_and_real_arrays_give_one_shape(architecture: str) -> None:
    from mlx_lm.models.cache import make_prompt_cache

    fields = config(architecture)
    net = build(architecture, fields, CONFIGS[architecture])
    real = shape_of(net, make_prompt_cache(net), architecture, 0)
    lazy = shape_from_config(fields, architecture, dtype="float32", as_run=True).shape
    assert lazy.groups[: len(real.groups)] == real.groups
    assert all(group.kind == "draft_kv" for group in lazy.groups[len(real.groups) :])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a shipped model's folder."""
    return Path(shutil.copytree(shipped.data("tiny-hybrid"), tmp_path / "my-hybrid"))


@pytest.mark.parametrize("name", ["tiny-hybrid", "tiny-sliding"])
def test_a_folder_with_weights_is_the_model_that_opens(name: str) -> None:
    found = shape_from_config(shipped.data(name), as_run=True)
    real = open_model(name, dtype="stored").shape
    if not mx.metal.is_available():
        # on a CPU every net is cast when it opens
        found = shape_from_config(shipped.data(name), dtype="float32", as_run=True)
        real = open_model(name, dtype="float32").shape
    assert found.shape.groups == real.groups
    assert found.shape.name == name
    assert found.shape.context == real.context
    # what the allocator gives may be a little more than the arrays take
    assert found.shape.weights_bytes == pytest.approx(real.weights_bytes, rel=0.01)


@pytest.mark.parametrize("name", ["tiny-hybrid", "tiny-sliding"])
def test_the_shipped_shape_of_a_shipped_model_is_the_model_as_a_cpu_opens_it(name: str) -> None:
    stored, real = find_shape(name).shape, open_model(name, dtype="float32").shape
    assert stored.groups == real.groups
    assert (stored.context, stored.look_ahead) == (real.context, real.look_ahead)
    assert stored.weights_bytes == pytest.approx(real.weights_bytes, rel=0.01)


def test_weights_that_lie_there_are_a_fact(folder: Path) -> None:
    found = shape_from_config(folder)
    stored = sum(array.nbytes for array in cast("dict[str, mx.array]", mx.load(str(folder / "model.safetensors"))).values())
    assert found.shape.weights_bytes == stored
    assert found.provenance["weights_bytes"].status == FACT
    assert found.provenance["recurrent"].status == FACT, "the files tell the number type that the config leaves out"
    assert found.shape.name == "my-hybrid"


def test_an_index_alone_tells_the_bytes_with_a_doubt(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"metadata": {"total_size": 123_456_789}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    found = shape_from_config(folder)
    assert found.shape.weights_bytes == 123_456_789
    assert found.provenance["weights_bytes"].status == GUESS


def test_a_folder_without_some_of_its_files_is_not_loaded(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert shape_from_config(folder).provenance["weights_bytes"].status == GUESS


@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.index.json"])
def test_damaged_files_are_told(folder: Path, name: str) -> None:
    (folder / name).write_text("not what it says")
    with pytest.raises(UnreadableInput, match="my-hybrid"):
        shape_from_config(folder)


def test_code_of_a_model_is_not_run(folder: Path) -> None:
    fields: dict[str, Any] = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(fields | {"model_file": "mine.py"}))
    (folder / "mine.py").write_text("raise SystemExit('run')")
    with pytest.raises(BadValue, match=r"mine\.py"):
        shape_from_config(folder)


def test_an_architecture_that_lacks_a_package_ends_no_process() -> None:
    with pytest.raises((BadValue, NotAvailable)):
        shape_from_config(config("olmo"))


@pytest.mark.full
@pytest.mark.parametrize(
    "architecture", [row["architecture"] for row in json.loads(shipped.data("conformance.json").read_text())["rows"] if row["result"] == "ok"]
)
def test_every_architecture_that_conforms_is_traced_alike(architecture: str) -> None:
    test_lazy_and_real_arrays_give_one_shape(architecture)
