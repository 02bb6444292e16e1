"""`kvlab twin WORKLOAD --shape S`: every way to name a shape, and what is told when there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab import shipped

Kvlab = Callable[..., Any]

# 38 tokens asked and 5 replied, of 16 layers with 8 heads of 64 in bfloat16
A_TOKEN = 16 * 2 * 8 * 64 * 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my-llama"
    made.mkdir()
    fields = json.loads((shipped.data("shapes") / "llama3.2-1b.json").read_text())["config"]
    (made / "config.json").write_text(json.dumps(fields))
    return made


def test_all_ways_to_name_one_shape_give_one_answer(kvlab_says: Kvlab, folder: Path) -> None:
    (folder / "shape.json").write_text(json.dumps(kvlab.twin("llama3.2-1b").shape.to_dict()))
    ways = ("llama3.2-1b", folder, folder / "config.json", folder / "shape.json")
    said = [kvlab_says("twin", "repeat:2", "--shape", way, "--json") for way in ways]
    assert [one.code for one in said] == [0] * 4
    assert [one.json["model"] for one in said] == ["llama3.2-1b", "my-llama", "my-llama", "llama3.2-1b"]
    rows = [[{name: value for name, value in row.items() if not name.endswith("_s")} for row in one.json["requests"]] for one in said]
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert rows[0][0]["live_bytes"] == 256 * A_TOKEN


def test_a_27b_model_fills_8_gib(kvlab_says: Kvlab) -> None:
    rows = kvlab_says("twin", "unrelated:60", "--shape", "qwen3.8-27b", "--json").json["requests"]
    assert rows[-1]["counted_bytes"] <= 8 * 2**30
    assert rows[-1]["reported_bytes"] > rows[0]["reported_bytes"] + 7 * 2**30


def fails(said: Any, code: int, *words: str) -> None:
    assert (said.code, said.out) == (code, "")
    what, why, hint = said.err.rstrip("\n").split("\n")[-3:]
    assert (what[:7], why[:7], hint[:7]) == ("kvlab: ", "  why: ", "  do:  ")
    for word in words:
        assert word in said.err


def test_wrong_use_is_2(kvlab_says: Kvlab) -> None:
    fails(kvlab_says("twin", "repeat:2", "--shape", "qwen3.8-72b"), 2, "'qwen3.8-72b'", "did you mean qwen3.8-27b")


def test_what_cannot_be_read_is_3(kvlab_says: Kvlab, tmp_path: Path) -> None:
    fails(kvlab_says("twin", "repeat:2", "--shape", tmp_path), 3, str(tmp_path / "config.json"))
    fails(kvlab_says("twin", "repeat:2", "--shape", tmp_path / "none.json"), 3, "none.json")
    (tmp_path / "config.json").write_text("{")
    fails(kvlab_says("twin", "repeat:2", "--shape", tmp_path), 3, "config.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({"num_attention_heads": -32}, "num_attention_heads is -32"),
        ({"sliding_window": -1}, "sliding_window is -1"),
        ({"model_type": "lama"}, "model_type is 'lama'"),
        ({"hidden_size": None}, "config.json"),
    ],
)
def test_a_config_with_a_field_that_cannot_be_is_2(kvlab_says: Kvlab, folder: Path, change: dict[str, Any], words: str) -> None:
    fields = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(fields | change))
    fails(kvlab_says("twin", "repeat:2", "--shape", folder), 2, str(folder / "config.json"), words)


def test_a_config_without_a_field_is_2(kvlab_says: Kvlab, folder: Path) -> None:
    fields = json.loads((folder / "config.json").read_text())
    del fields["intermediate_size"]
    (folder / "config.json").write_text(json.dumps(fields))
    fails(kvlab_says("twin", "repeat:2", "--shape", folder), 2, str(folder / "config.json"), "intermediate_size is missing")
