"""Figures that were published or handed: a config alone must give them to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from kvlab import shipped
from kvlab.lab.shapes import find_shape, shipped_names
from kvlab.models.config import FACT, FITTED, GUESS, shape_from_config
from kvlab.models.config.net import USUAL_TYPE
from kvlab.shape import LayerGroup, Shape
from tests.tools.store_shapes import as_text, stored

WANTED = {"qwen3.8-27b", "qwen3.6-35b-a3b", "gemma4-31b", "gemma4-26b-a4b", "smollm2", "gemma3-270m", "tiny-hybrid", "tiny-sliding"}
BFLOAT16, FLOAT32 = 2, 4


def config_of(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((shipped.data("shapes") / f"{name}.json").read_text())["config"]
    return fields


def one(shape: Shape, kind: str) -> LayerGroup:
    (found,) = [group for group in shape.groups if group.kind == kind]
    return found


@pytest.fixture(params=["shipped", "traced"])
def shape_of(request: pytest.FixtureRequest) -> Any:
    """A shape by name: as it is shipped, and traced of its config now."""
    if request.param == "shipped":
        return lambda name: find_shape(name).shape
    return lambda name: shape_from_config(config_of(name), name).shape


def test_qwen_27b(shape_of: Any) -> None:
    shape = shape_of("qwen3.8-27b")
    recurrent, kv, draft = one(shape, "recurrent"), one(shape, "kv"), one(shape, "draft_kv")
    assert (len(recurrent.layers), len(kv.layers), len(draft.layers)) == (48, 16, 1)
    assert sorted((*recurrent.layers, *kv.layers)) == list(range(64))
    assert recurrent.state_bytes == 153_944_064
    assert kv.bytes_per_token == 16 * 2 * 4 * 256 * BFLOAT16
    assert draft.bytes_per_token == 2 * 4 * 256 * BFLOAT16
    assert shape.bytes_per_token == 69_632, "as the case chat_50_turns has it"
    assert shape.look_ahead == 1
    # a row of the convolution's input: keys of 16 heads twice, values of 48
    assert recurrent.conv_bytes_per_token == 48 * (2 * 16 * 128 + 48 * 128) * BFLOAT16


def test_qwen_35b(shape_of: Any) -> None:
    shape = shape_of("qwen3.6-35b-a3b")
    recurrent, kv = one(shape, "recurrent"), one(shape, "kv")
    assert (len(recurrent.layers), len(kv.layers)) == (30, 10)
    assert recurrent.state_bytes == 64_389_120
    assert kv.bytes_per_token == 20_480 == 10 * 2 * 2 * 256 * BFLOAT16
    assert recurrent.conv_bytes_per_token == 491_520
    assert shape.look_ahead == 0


@pytest.mark.parametrize(
    ("name", "sliding", "full", "heads", "window_bytes"), [("gemma4-31b", 50, 10, 16, 838_860_800), ("gemma4-26b-a4b", 25, 5, 8, 200 * 2**20)]
)
def test_gemma4(shape_of: Any, name: str, sliding: int, full: int, heads: int, window_bytes: int) -> None:
    shape = shape_of(name)
    window, kv = one(shape, "rotating"), one(shape, "kv")
    assert (len(window.layers), len(kv.layers), window.window) == (sliding, full, 1024)
    assert window.bytes_per_token == sliding * 2 * heads * 256 * BFLOAT16
    assert window.state_bytes == window_bytes == 1024 * window.bytes_per_token


def test_latent_attention_keeps_one_row_for_all_heads(shape_of: Any) -> None:
    assert one(shape_of("deepseek-v3"), "kv").bytes_per_token == 61 * (512 + 64) * BFLOAT16


def test_a_window_of_the_opt_in_model(shape_of: Any) -> None:
    shape = shape_of("gemma3-270m")
    window, kv = one(shape, "rotating"), one(shape, "kv")
    assert (len(window.layers), len(kv.layers), window.window) == (15, 3, 512)
    assert window.bytes_per_token == 15 * 2 * 256 * FLOAT32


def test_reported_weights() -> None:
    assert 16.9 <= find_shape("qwen3.8-27b").shape.weights_bytes / 2**30 <= 17.2
    assert 16.96 <= find_shape("gemma4-31b").shape.weights_bytes / 2**30 <= 17.3


def test_the_wanted_shapes_and_ten_more_are_shipped() -> None:
    assert set(shipped_names()) >= WANTED
    assert len(set(shipped_names()) - WANTED) >= 10


@pytest.mark.parametrize("name", shipped_names())
def test_a_shipped_file_is_what_its_config_gives(name: str) -> None:
    path = shipped.data("shapes") / f"{name}.json"
    data = json.loads(path.read_text())
    assert data["name"] == name
    assert path.read_text() == as_text(stored(data)), f"python -m tests.tools.store_shapes data/shapes/{name}.json"


@pytest.mark.parametrize("name", shipped_names())
def test_every_figure_of_a_shipped_shape_names_its_source(name: str) -> None:
    found = find_shape(name)
    assert set(found.provenance) == {*(group.kind for group in found.shape.groups), "weights_bytes", "context", "look_ahead"}
    assert all(told.status in (FACT, FITTED, GUESS) and len(told.source) > 10 for told in found.provenance.values())
    # a source that names the figures a constant was fitted to is no fact's, and a fact is not what reproduces a table
    assert all((told.status == FITTED) == (", fitted to " in told.source) for told in found.provenance.values())
    assert not [told for told in found.provenance.values() if told.status == FACT and "reproduce" in told.source]


def test_constants_that_published_figures_gave_are_fitted() -> None:
    fitted = {(name, figure) for name in shipped_names() for figure, told in find_shape(name).provenance.items() if told.status == FITTED}
    assert fitted == {("qwen3.8-27b", "weights_bytes"), ("qwen3.8-27b", "look_ahead"), ("gemma4-31b", "weights_bytes")}


def test_nothing_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_of("qwen3.8-27b") | {"quantization": {"bits": 4, "group_size": 64}}))
    shape_from_config(tmp_path)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    found = shape_from_config(tmp_path)
    # 14 GiB of packed weights; what is allocated are constants of a few bytes each
    assert found.shape.weights_bytes > 14 * 2**30
    assert mx.get_peak_memory() - before < 64 * 2**10
    assert mx.get_active_memory() - before < 2**10


def test_random_numbers_go_on_as_if_nothing_had_been_traced() -> None:
    mx.random.seed(2**40 + 7)
    mx.random.uniform(shape=(3,))
    expected = mx.random.uniform(shape=(4,)).tolist()
    mx.random.seed(2**40 + 7)
    mx.random.uniform(shape=(3,))
    shape_from_config(config_of("tiny-hybrid"))
    assert mx.random.uniform(shape=(4,)).tolist() == expected


def test_a_token_costs_by_number_type() -> None:
    fields = config_of("llama3.2-1b") | {"quantization": None}
    full = shape_from_config(fields | {"dtype": "float32"})
    half = shape_from_config(fields | {"dtype": "float16"})
    assert full.shape.bytes_per_token == 2 * half.shape.bytes_per_token == 16 * 2 * 8 * 64 * FLOAT32
    assert full.shape.weights_bytes == 2 * half.shape.weights_bytes
    # the parameters of Llama 3.2 1B as its card counts them
    assert half.shape.weights_bytes == 1_235_814_400 * 2
    assert shape_from_config(fields, dtype="float32").shape.groups == full.shape.groups


def test_a_recurrent_state_stays_float32() -> None:
    half = one(shape_from_config(config_of("tiny-hybrid"), dtype="float16").shape, "recurrent")
    state, rows = 3 * 4 * 32 * 32 * FLOAT32, 3 * 3 * (2 * 2 * 32 + 4 * 32) * 2
    assert half.state_bytes == state + rows


def test_what_the_config_does_not_say_is_a_guess() -> None:
    fields = config_of("llama3.1-8b")
    del fields["dtype"]
    found = shape_from_config(fields)
    assert found.provenance["kv"].status == GUESS
    assert USUAL_TYPE in found.provenance["kv"].source
    given = config_of("qwen3.6-35b-a3b")
    del given["linear_num_value_heads"]
    found = shape_from_config(given)
    assert found.provenance["recurrent"].status == GUESS
    assert "linear_num_value_heads" in found.provenance["recurrent"].source
    assert shape_from_config(config_of("qwen3.6-35b-a3b")).provenance["recurrent"].status == FACT


def test_packed_weights_cost_their_bits_and_scales() -> None:
    fields = config_of("llama3.1-8b")
    plain = shape_from_config(fields | {"quantization": None}).shape
    packed = shape_from_config(fields | {"quantization": {"bits": 4, "group_size": 64}}).shape
    # a number takes 4 bits, and 64 of them a scale and a bias of 16 bits each; norms stay as they are
    assert packed.weights_bytes == pytest.approx(plain.weights_bytes * (4 + 32 / 64) / 16, rel=1e-3)
    assert packed.groups == plain.groups


def test_draft_layers_come_by_any_of_their_names() -> None:
    fields = config_of("llama3.1-8b")
    plain = shape_from_config(fields).shape
    drafting = shape_from_config(fields | {"num_nextn_predict_layers": 2})
    assert drafting.shape.groups == (*plain.groups, LayerGroup("draft_kv", (32, 33), bytes_per_token=2 * plain.bytes_per_token // 32))
    assert (plain.look_ahead, drafting.shape.look_ahead) == (0, 1)
    assert drafting.provenance["draft_kv"].status == GUESS
