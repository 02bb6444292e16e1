"""What a config can have wrong: the error names the file, the field and the value, and no net is built for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlab import shipped
from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.models.config import shape_from_config, traced
from tests.models.configs import LLAMA


@pytest.fixture
def no_net(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: object, **__: object) -> None:
        pytest.fail("a net was built")

    monkeypatch.setattr(traced, "lazy_net", built)


def told(file: Path, fields: object) -> KvlabError:
    file.write_text(fields if isinstance(fields, str) else json.dumps(fields))
    with pytest.raises(KvlabError) as caught:
        shape_from_config(file)
    assert str(file) in caught.value.what
    return caught.value


@pytest.mark.usefixtures("no_net")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_hidden_layers", 10**9),
        ("num_hidden_layers", 0),
        ("num_hidden_layers", "two"),
        ("num_hidden_layers", 2.5),
        ("num_hidden_layers", True),
        ("num_attention_heads", -4),
        ("num_key_value_heads", -1),
        ("num_key_value_heads", 0),
        ("hidden_size", 10**12),
        ("hidden_size", 0),
        ("intermediate_size", -96),
        ("vocab_size", 10**18),
        ("head_dim", -128),
        ("sliding_window", -1),
        ("sliding_window", 10**15),
        ("num_local_experts", 10**9),
        ("num_nextn_predict_layers", 10**9),
        ("num_nextn_predict_layers", -1),
        ("sliding_window_pattern", 10**9),
        ("hidden_size", None),
        ("hidden_size", [1]),
        ("vocab_size", [128]),
        ("rms_norm_eps", "small"),
        ("rms_norm_eps", -1e-5),
    ],
)
def test_absurd_sizes(file: Path, field: str, value: object) -> None:
    error = told(file, LLAMA | {field: value})
    assert isinstance(error, BadValue)
    assert f"{field} is {value!r}" in error.what


@pytest.mark.usefixtures("no_net")
def test_absurd_sizes_inside_a_text_config_name_their_place(file: Path) -> None:
    fields = {"model_type": "qwen3_5", "text_config": LLAMA | {"linear_num_value_heads": -48}}
    assert "text_config.linear_num_value_heads is -48" in told(file, fields).what


@pytest.mark.usefixtures("no_net")
def test_no_number_of_layers(file: Path) -> None:
    fields = {name: value for name, value in LLAMA.items() if name != "num_hidden_layers"}
    error = told(file, fields)
    assert "num_hidden_layers is missing" in error.what
    assert error.exit_code == 2


@pytest.mark.parametrize("field", ["hidden_size", "intermediate_size", "vocab_size", "num_attention_heads", "rms_norm_eps"])
def test_a_field_that_the_architecture_needs(file: Path, field: str) -> None:
    fields = {name: value for name, value in LLAMA.items() if name != field}
    assert f"{field} is missing" in told(file, fields).what


def test_a_field_that_an_inner_architecture_needs(file: Path) -> None:
    fields = {"model_type": "gemma3", "text_config": {"num_hidden_layers": 2}}
    error = told(file, fields)
    assert "is missing" in error.what


def test_an_unknown_architecture(file: Path) -> None:
    error = told(file, LLAMA | {"model_type": "lama"})
    assert "model_type is 'lama'" in error.what
    assert "llama" in error.hint


@pytest.mark.parametrize("value", [5, ["llama"], "../llama", "base", "cache", "switch_layers", "os", ""])
def test_what_is_no_architecture(file: Path, value: object) -> None:
    assert f"model_type is {value!r}" in told(file, LLAMA | {"model_type": value}).what


def test_no_model_type(file: Path) -> None:
    assert "model_type is missing" in told(file, {name: value for name, value in LLAMA.items() if name != "model_type"}).what


def test_sizes_that_do_not_fit_together(file: Path) -> None:
    error = told(file, LLAMA | {"num_key_value_heads": 3})
    assert "num_key_value_heads is 3" in error.what
    assert "num_attention_heads is 4" in error.why
    assert isinstance(error, BadValue)


@pytest.mark.parametrize(
    ("field", "value"), [("num_attention_heads", None), ("num_attention_heads", [4]), ("intermediate_size", "x"), ("rms_norm_eps", None), ("rope_theta", "x")]
)
def test_a_value_of_another_kind_than_mlx_lm_reads(file: Path, field: str, value: object) -> None:
    error = told(file, LLAMA | {field: value})
    assert f"{field} is {value!r}" in error.what
    assert "model_type" not in str(error)


@pytest.mark.usefixtures("no_net")
@pytest.mark.parametrize("field", ["rms_norm_eps", "rope_theta"])
def test_a_number_that_is_none(file: Path, field: str) -> None:
    assert f"{field} is nan" in told(file, LLAMA | {field: float("nan")}).what


def test_weights_beyond_any_machine(file: Path) -> None:
    error = told(file, LLAMA | {"hidden_size": 2**24, "intermediate_size": 2**24, "num_hidden_layers": 100})
    assert isinstance(error, BadValue)


@pytest.mark.parametrize("value", ["complex64", "int4", 16])
def test_an_unknown_number_type(file: Path, value: object) -> None:
    assert f"dtype is {value!r}" in told(file, LLAMA | {"dtype": value}).what


@pytest.mark.parametrize(("packing", "place"), [({"bits": 0}, "quantization.bits is 0"), ({"bits": 4, "group_size": -64}, "group_size is -64"), (4, "is 4")])
def test_a_packing_that_cannot_be(file: Path, packing: object, place: str) -> None:
    assert place in told(file, LLAMA | {"quantization": packing}).what


def test_a_packing_that_mlx_does_not_have(file: Path) -> None:
    error = told(file, LLAMA | {"quantization": {"bits": 7, "group_size": 64}})
    assert isinstance(error, BadValue)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"a": ' * 100_000])
def test_no_json_object(file: Path, text: str) -> None:
    error = told(file, text)
    assert isinstance(error, UnreadableInput)
    assert error.exit_code == 3


def test_bytes_that_are_no_text(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableInput):
        shape_from_config(file)


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"config\.json"):
        shape_from_config(tmp_path)


def test_other_towers_are_left_alone(file: Path) -> None:
    file.write_text(json.dumps(LLAMA | {"vision_config": {"num_hidden_layers": -1, "hidden_size": 10**12}, "pad_token_id": -1, "eos_token_id": [-1]}))
    assert shape_from_config(file).shape.bytes_per_token == 2 * 2 * 2 * 16 * 4


def test_a_shipped_config_that_lost_a_field_at_a_time_is_a_shape_or_an_error(file: Path) -> None:
    data = json.loads((shipped.data("shapes") / "tiny-hybrid.json").read_text())["config"]
    for field in data:
        file.write_text(json.dumps({name: value for name, value in data.items() if name != field}))
        try:
            assert shape_from_config(file).shape.groups
        except KvlabError as error:
            assert str(file) in error.what  # noqa: PT017  # either way is right


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e400", "-1e400"])
@pytest.mark.parametrize(
    ("field", "place"),
    [
        ('"rope_theta": {}', "rope_theta"),
        ('"rope_scaling": {{"factor": {}}}', "rope_scaling.factor"),
        ('"rope_scaling": {{"short_factor": [1.0, {}]}}', "rope_scaling.short_factor[1]"),
        ('"text_config": {{"rope_theta": {}}}', "text_config.rope_theta"),
        ('"vision_config": {{"depths": [[0.5], [{}]]}}', "vision_config.depths[1][0]"),
        ('"nobody_knows_this": {}', "nobody_knows_this"),
        ('"time_step_limit": [{}, 1.0]', "time_step_limit[0]"),
    ],
)
def test_a_number_that_is_none_is_refused_wherever_it_stands(file: Path, field: str, place: str, number: str) -> None:
    text = json.dumps(LLAMA)[:-1] + ", " + field.format(number) + "}"
    file.write_text(text)
    with pytest.raises(BadValue) as met:
        shape_from_config(file)
    value = {"1e400": "inf", "Infinity": "inf", "NaN": "nan"}.get(number, "-inf")
    assert met.value.what == f"{file}: {place} is {value}"


def test_the_one_bound_that_public_configs_leave_open(file: Path) -> None:
    file.write_text(json.dumps(LLAMA | {"time_step_limit": [0.0, float("inf")]}))
    assert shape_from_config(file).shape.groups
