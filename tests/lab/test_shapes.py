"""Where a twin's shape may come from, and what is told when it cannot come from there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

import kvlab
from kvlab import shipped
from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.lab import Twin, open_twin
from kvlab.lab.shapes import shipped_names
from kvlab.models.config import FACT
from kvlab.shape import LayerGroup, Shape

PLAIN = Shape("mine", (LayerGroup("kv", (0, 1), bytes_per_token=8),), weights_bytes=100, context=50)


def config_of(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((shipped.data("shapes") / f"{name}.json").read_text())["config"]
    return fields


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder without weights."""
    made = tmp_path / "some-model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps(config_of("llama3.2-1b")))
    return made


def test_a_config_is_found_however_it_is_named(folder: Path) -> None:
    file = folder / "config.json"
    twins = [open_twin(one) for one in (folder, str(folder), file, str(file), config_of("llama3.2-1b"))]
    assert len({twin.shape.groups for twin in twins}) == 1
    assert [twin.name for twin in twins] == ["some-model"] * 4 + ["llama"]
    assert all(twin.provenance["kv"].status == FACT for twin in twins)
    assert twins[0].shape.groups == kvlab.twin("llama3.2-1b").shape.groups


def test_a_config_of_another_name(folder: Path) -> None:
    other = (folder / "config.json").rename(folder / "my_model.json")
    assert open_twin(str(other)).name == "my_model"


def test_a_shape_comes_as_it_is_or_out_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(PLAIN.to_dict()))
    assert open_twin(PLAIN).shape == open_twin(file).shape == PLAIN
    assert open_twin(file).provenance == {}


def test_a_model_that_the_hub_s_cache_has(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "hub" / "models--someone--some-model"
    (cache / "refs").mkdir(parents=True)
    (cache / "refs" / "main").write_text("0123abcd")
    (cache / "snapshots").mkdir()
    folder.rename(cache / "snapshots" / "0123abcd")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    twin = kvlab.twin("someone/some-model")
    assert (twin.name, twin.shape.groups) == ("someone/some-model", kvlab.twin("llama3.2-1b").shape.groups)
    told("someone/other-model", BadValue, "someone/other-model", "config.json")
    told("not/an/id", BadValue, "not/an/id")


def test_a_shipped_name_wins_over_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    assert kvlab.twin("smollm2").shape.context == 8192
    with pytest.raises(UnreadableInput, match=r"config\.json"):
        kvlab.twin("./smollm2")


def test_every_shipped_shape_runs() -> None:
    for name in shipped_names():
        recording = kvlab.twin(name).run("unrelated:2", progress=False, check=True)
        assert recording.events.filter(kind="violation").is_empty(), name


def test_kinds_have_unit_prices_and_no_provenance() -> None:
    twin: Twin = kvlab.twin(["recurrent", "kv", "kv"])
    assert (twin.shape.state_bytes, twin.shape.bytes_per_token) == (10, 2)
    assert twin.provenance == {}


def told(given: Any, kind: type[KvlabError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        open_twin(given)
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_is_nearly_one() -> None:
    told("qwen3.8-72b", BadValue, "'qwen3.8-72b'", "did you mean qwen3.8-27b")
    told("nothing like it", BadValue, "smollm2", "config.json")


@pytest.mark.parametrize("given", ["./no/such/model", "/no/such/config.json", "~/no/such/model", "no_such.json", Path("no_such")])
def test_a_place_where_nothing_is(given: str | Path) -> None:
    told(given, UnreadableInput, "no_such" if "no_such" in str(given) else "no/such")


def test_no_kinds_at_all() -> None:
    told([], BadValue, "layer kinds")
    told(["kv", "convolution"], BadValue, "convolution")


def test_layers_that_keep_nothing() -> None:
    told(["stateless", "stateless"], BadValue, "stateless+stateless")
    told(Shape("empty", ()), BadValue, "empty")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": []}, ["no layer of mine keeps anything"]),
        ({"groups": [{"kind": "stateless", "layers": [0]}]}, ["no layer of mine keeps anything"]),
        ({"groups": [{"kind": "kv"}]}, ["layers"]),
        ({"groups": [{"kind": "attention", "layers": [0]}]}, ["attention"]),
        ({"groups": [{"kind": "kv", "layers": [0], "bytes_per_token": -1}]}, ["bytes_per_token is -1"]),
        ({"groups": [{"kind": "kv", "layers": [0], "bytes_per_token": "8"}]}, []),
        ({"groups": [{"kind": "kv", "layers": [0], "heads": 8}]}, ["heads"]),
        ({"groups": 5}, []),
        ({"weights_bytes": -1}, ["weights_bytes is -1"]),
        ({"weights_bytes": 10**30}, ["weights_bytes", str(10**30)]),
        ({"look_ahead": 2}, ["look_ahead is 2"]),
        ({"provenance": {"kv": "somewhere"}}, ["provenance of kv"]),
        ({"provenance": {"kv": {"status": "rumour", "source": "x"}}}, ["rumour"]),
    ],
)
def test_a_shape_file_with_a_field_that_cannot_be(tmp_path: Path, change: dict[str, Any], words: list[str]) -> None:
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(PLAIN.to_dict() | change))
    told(file, KvlabError, "broken.json", *words)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"groups"'])
def test_a_file_that_holds_no_object(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    told(file, UnreadableInput, "broken.json")


def test_a_shipped_shape_brings_in_no_mlx() -> None:
    look = "import sys, kvlab; kvlab.twin('gemma4-31b').outlook; print('mlx' in sys.modules or 'mlx_lm' in sys.modules, 'altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bytes_per_tokn": 8}, ("groups[0]", "'bytes_per_tokn'", "bytes_per_token")),
        ({"layers": [0, 0, 1]}, ("groups[0].layers is [0, 0, 1]",)),
        ({"layers": []}, ("groups[0].layers is []",)),
        ({"layers": [0, -1]}, ("groups[0].layers is [0, -1]",)),
        ({"layers": [0, "1"]}, ("groups[0].layers is [0, '1']",)),
        ({"layers": [0.5]}, ("groups[0].layers is [0.5]",)),
    ],
)
def test_a_layer_group_that_cannot_be_is_named_with_file_key_and_value(tmp_path: Path, change: dict[str, Any], words: tuple[str, ...]) -> None:
    data = PLAIN.to_dict()
    data["groups"][0] |= change
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(data))
    with pytest.raises(BadValue) as caught:
        open_twin(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_parts_of_composite_layers_share_a_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(Shape("mine", (LayerGroup("kv", (0, 0, 1, 1), bytes_per_token=8),)).to_dict()))
    assert open_twin(path).shape.groups[0].layers == (0, 0, 1, 1)
