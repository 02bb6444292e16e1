"""The manifest is checked like the parts: its checksum, every field by type and range; nothing in it makes a traceback."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.policy import Policy
from kvlab.recording import load
from kvlab.recording.manifest import CHECKSUM, Manifest

FLIPS = 600


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(out), progress=False)
    return out


def test_no_flipped_bit_and_no_other_digit_changes_what_is_read(run: Path) -> None:
    text, chance = (run / "manifest.json").read_bytes(), random.Random(18)
    whole = Manifest.from_json(text, "it")
    digits = [place for place, byte in enumerate(text) if chr(byte).isdigit()]
    for number in range(FLIPS):
        flipped = bytearray(text)
        if number % 2:
            flipped[chance.choice(digits)] = ord(chance.choice("0123456789"))
        else:
            flipped[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
        try:
            assert Manifest.from_json(bytes(flipped), "it") == whole
        except UnreadableInput:
            continue


def changed(run: Path, *, checksum: bool = False, **fields: Any) -> bytes:
    data = json.loads((run / "manifest.json").read_text()) | fields
    return json.dumps(data if checksum else {key: value for key, value in data.items() if key != CHECKSUM}).encode()


GROUP = {"kind": "kv", "layers": [0], "bytes_per_token": 1, "state_bytes": 0}
ODD: dict[str, Any] = {
    "schema": [True, 1.5, "1", None, [], 99],
    "events": [-1, 2**70, True, "3", 1e400, []],
    "model": [None, 3, [], {}, "\ud800"],
    "origin": [None, [], "x", 3],
    "shape": [
        None,
        [],
        3,
        {"groups": 3},
        {"groups": [3]},
        {"groups": [{}]},
        {"groups": [GROUP | {"bytes_per_token": []}]},
        {"name": "x"},
        {"groups": [GROUP], "weights_bytes": {}},
    ],
    "policy": [None, [], {"budget_bytes": []}, {"budget_bytes": {}}, {"evict_at": 3}, {"protect": []}, {"capture_grid": "x"}],
    "workload": [None, 3, []],
    "machine": [None, [], 3],
    "stored_text": [0, "yes", None],
    "checked": [1, "no", None],
    "seed": ["x", 1.5, True],
    "left_out": [3, "x", {}],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in ODD.items() for value in values], ids=str)
def test_a_malformed_field_is_refused_or_does_no_harm(run: Path, tmp_path: Path, field: str, value: Any) -> None:
    made = tmp_path / "made.kvrec"
    made.mkdir()
    (made / "events").symlink_to(run / "events")
    (made / "manifest.json").write_bytes(changed(run, **{field: value}))
    with contextlib.suppress(KvlabError):
        recording = load(made)
        assert repr(recording)
        assert str(recording.policy)
        assert str(recording.shape)


@pytest.mark.parametrize(
    "change",
    [
        {"layers": ""},
        {"layers": []},
        {"kind": None},
        {"kind": "of tomorrow"},
        {"bytes_per_token": "x"},
        {"bytes_per_token": -1},
        {"growth_step": 0},
        {"of_tomorrow": 1},
        {"chunked": 1},
    ],
    ids=str,
)
def test_a_shape_that_cannot_be_is_refused_with_the_file_s_name(run: Path, change: dict[str, Any]) -> None:
    shape = json.loads((run / "manifest.json").read_text())["shape"]
    shape["groups"][0] |= change
    with pytest.raises(UnreadableInput, match=r"(?s)it cannot .*its shape cannot be used: .*" + next(iter(change))):
        Manifest.from_json(changed(run, shape=shape), "it")


@pytest.mark.parametrize("policy", [{"a": None}, {"budget_bytes": ""}, {"budget_counts": None}, {"evict_at": "x"}, {"evict_order": "of tomorrow"}], ids=str)
def test_rules_that_cannot_be_used_name_the_recording_and_its_kvlab(run: Path, tmp_path: Path, policy: dict[str, Any]) -> None:
    made = tmp_path / "made.kvrec"
    made.mkdir()
    (made / "events").symlink_to(run / "events")
    (made / "manifest.json").write_bytes(changed(run, policy=policy))
    recording = load(made)
    assert recording.requests.height == 2
    with pytest.raises(UnreadableInput, match=r"(?s)made\.kvrec.*written by kvlab"):
        kvlab.diagnose(recording)


@pytest.mark.parametrize("field", ["kvlab", "model", "workload", "created", "mlx"])
def test_a_name_of_any_length_is_refused(run: Path, field: str) -> None:
    fields: dict[str, Any] = {field: "a" * 100_000}
    with pytest.raises(UnreadableInput, match=f"its {field} has 100,000 letters"):
        Manifest.from_json(changed(run, **fields), "it")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"[" * 100_000, b"\xff\xfe", b'{"schema": ' + b"9" * 5000 + b"}"])
def test_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(UnreadableInput):
        Manifest.from_json(text, "it")


def test_unknown_keys_are_named_and_salvage_reads_a_changed_one(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="'of_tomorrow'"):
        Manifest.from_json(changed(run, of_tomorrow=1), "it")
    with pytest.raises(UnreadableInput, match="checksum is another"):
        Manifest.from_json(changed(run, checksum=True, model="other"), "it")
    made = tmp_path / "made.kvrec"
    made.mkdir()
    (made / "events").symlink_to(run / "events")
    (made / "manifest.json").write_bytes(changed(run, checksum=True, model="other"))
    assert load(made, strict=False).manifest.model == "other"


def test_a_manifest_of_before_has_no_checksum_and_is_read(run: Path) -> None:
    assert Manifest.from_json(changed(run), "it") == load(run).manifest


@pytest.mark.parametrize("value", ["no", "yes", "1", 1, 0, None, "off"])
def test_a_boolean_choice_is_true_or_false_alone(value: object) -> None:
    with pytest.raises(BadValue, match="clear_pool_after_load"):
        Policy().replace(clear_pool_after_load=value)
    assert Policy().replace(clear_pool_after_load="False").clear_pool_after_load is False


def test_moments_given_as_one_word_to_the_class_are_refused() -> None:
    with pytest.raises(BadValue, match="evict_at"):
        Policy(evict_at="begin")  # pyright: ignore[reportArgumentType]
