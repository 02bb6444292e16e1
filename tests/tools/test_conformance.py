from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.mlx_state import MLXRecurrentStore, MLXRotatingStore
from kvlab.studies.conformance import FILE, Table, published
from tests.tools.conformance import compared as table
from tests.tools.conformance import matrix
from tests.tools.conformance.__main__ import main
from tests.tools.conformance.configs import CONFIGS, VOCABULARY, config
from tests.tools.conformance.row import row

KINDS = ("llama", "baichuan_m1", "deepseek_v32", "lfm2", "qwen3_next", "recurrent_gemma", "rwkv7")
"""A window with full attention, composites of two kinds, two caches a layer, a convolution, a delta rule, a recurrence with a window, a state-space net."""

ENOUGH = 93
"""Architectures that have to conform."""


def _here(architecture: str, **fields: Any) -> dict[str, Any]:
    """A row made in this process, so that a test can break what it asks."""
    return row(architecture, config(architecture) | fields, [*CONFIGS[architecture], *fields], VOCABULARY)


@pytest.mark.parametrize("architecture", KINDS)
def test_row_is_as_published(architecture: str) -> None:
    now = matrix.checked_in_process(architecture)
    assert now["result"] == "ok"
    (compared,) = table.compared(table.of([now]), published())
    assert (compared.verdict, compared.differs) == ("same", ())


def test_published_table_is_whole() -> None:
    found = published()
    assert [entry["architecture"] for entry in found.rows] == list(CONFIGS)
    assert found.passed >= ENOUGH
    assert [entry for entry in found.rows if entry["result"] != "ok" and not entry.get("why")] == []


def test_every_architecture_of_mlx_lm_has_a_config() -> None:
    if importlib.metadata.version("mlx-lm") != published().made_with["mlx_lm"]:
        return
    spec = find_spec("mlx_lm")
    assert spec is not None
    assert spec.origin is not None
    modules = (Path(spec.origin).parent / "models").glob("*.py")
    assert {path.stem for path in modules if re.search(r"^class ModelArgs\b", path.read_text(), re.MULTILINE)} == set(CONFIGS)


def test_a_table_is_written_as_it_was_read(tmp_path: Path) -> None:
    table.write(published(), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == shipped.data(FILE).read_bytes()
    with pytest.raises(UnreadableInput, match="cannot be written"):
        table.write(published(), tmp_path / "no" / "folder.json")


def _shared(self: MLXKVStore, start: int, end: int) -> Any:
    views = [(cache.keys[..., start:end, :], cache.values[..., start:end, :]) for cache in self.caches]
    mx.eval(views)
    return views


def _emptied(self: MLXRecurrentStore, data: Any, offset: int) -> None:
    del offset
    for cache, arrays in zip(self.caches, data, strict=True):
        cache.cache = [mx.zeros_like(array) for array in arrays]


def _turned(self: MLXRotatingStore, data: Any, offset: int) -> None:
    for cache, one in zip(self.caches, data, strict=True):
        cache.keys, cache.values = mx.concatenate([one.keys[..., 1:, :], one.keys[..., :1, :]], axis=2), mx.array(one.values)
        cache.offset, cache._idx = offset, one.index


@pytest.mark.parametrize(
    ("architecture", "store", "method", "broken", "words"),
    [
        ("qwen3", MLXKVStore, "copy", _shared, "shares"),
        ("lfm2", MLXRecurrentStore, "put", _emptied, "restore"),
        ("gemma3_text", MLXRotatingStore, "put", _turned, "restore"),
    ],
)
def test_a_broken_store_is_seen(architecture: str, store: type, method: str, broken: Callable[..., Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, method, broken)
    now = _here(architecture)
    assert now["snapshot"] == "failed"
    assert now["result"].startswith("snapshot: ")
    assert words in now["result"]
    assert (now["branch"], now["felt"]) == ("equal", "every part")


def test_a_part_that_decides_nothing_is_seen() -> None:
    now = _here("deepseek_v32", index_topk=64)
    assert (now["snapshot"], now["felt"]) == ("equal", "failed")
    assert now["result"] == "felt: part 1 (KVCache), 3 (KVCache) does not reach the logits"


def test_a_net_that_is_not_equal_to_cold_is_seen() -> None:
    now = _here("plamo3")
    assert (now["forward"] > 0, now["prefix"], now["branch"]) == (True, "failed", "equal")
    assert now["result"].startswith("prefix: differs from all tokens at once")


def test_a_config_that_is_not_read_as_meant_is_seen() -> None:
    assert _here("llama", window=8)["result"] == "llama reads no window"
    assert "no tiny net" in _here("llama", vocab_size=1_000_000)["result"]
    assert _here("llama", num_attention_heads="four")["result"].startswith("TypeError: ")


@pytest.mark.parametrize(
    ("code", "errors", "result"),
    [
        (-11, "", "the interpreter was ended by SIGSEGV"),
        (7, "Traceback\nImportError: no such module\n", "the interpreter left with code 7: ImportError: no such module"),
    ],
)
def test_a_process_that_ends_is_a_row(code: int, errors: str, result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, code, "", errors)

    monkeypatch.setattr(subprocess, "run", ended)
    assert matrix.checked_in_process("llama") == {"architecture": "llama", "result": result}
    assert matrix.checked_in_process("bitnet")["why"]


def test_a_process_that_does_not_answer_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(command: list[str], timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", slow)
    assert matrix.checked_in_process("llama", timeout=4) == {"architecture": "llama", "result": "no answer within 4 s"}


def test_rows_agree_when_their_checks_do() -> None:
    before = {"architecture": "a", "result": "ok", "caches": "2xKVCache", "prefix": 1e-7, "branch": "equal"}
    failing = before | {"result": "prefix: differs", "prefix": "failed", "why": "known"}
    metal = {"architecture": "a", "result": "forward: no Metal", "caches": "2xKVCache", "prefix": None, "branch": None}

    def verdict(then: dict[str, Any], now: dict[str, Any], device: str = "cpu") -> tuple[str, tuple[str, ...]]:
        (one,) = table.compared(Table({"device": device}, (now,)), Table({"device": "cpu"}, (then,)))
        return one.verdict, one.differs

    assert verdict(before, before | {"prefix": 9e-6}) == ("same", ())
    assert verdict(failing, failing | {"result": "prefix: differs more", "why": "better known"}) == ("same", ())
    assert verdict(before, failing) == ("differs", ("prefix", "result"))
    assert verdict(before, before | {"caches": "1xKVCache"}) == ("differs", ("caches",))
    assert verdict(metal, before) == ("differs", ("branch", "prefix", "result"))
    assert verdict(metal, before, device="gpu")[0] == "other device"
    assert table.compared(Table({}, (before,)), None)[0].verdict == "new"


def test_the_command_prints_published_beside_now_and_fails_on_a_row_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {entry["architecture"]: entry for entry in published().rows}
    answers = {"qwen3": rows["qwen3"], "plamo3": rows["plamo3"]}
    monkeypatch.setattr(matrix, "checked_in_process", answers.__getitem__)
    words = ["--only", "qwen3", "--only", "plamo3", "--out", str(tmp_path / "now.json")]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "1 of 2 architectures conform; no rows differ from the published table" in text
    assert rows["plamo3"]["why"] in text
    assert [entry["architecture"] for entry in json.loads((tmp_path / "now.json").read_text())["rows"]] == ["plamo3", "qwen3"]

    answers["qwen3"] = rows["qwen3"] | {"branch": "failed", "result": "branch: the copy differs"}
    assert main([*words, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [(entry["architecture"], entry["verdict"], entry["differs"]) for entry in printed["rows"]] == [
        ("plamo3", "same", []),
        ("qwen3", "differs", ["branch", "result"]),
    ]
    assert (printed["conform"], printed["agrees"]) == (0, False)


def test_what_a_user_may_get_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="did you mean qwen3_next") as error:
        matrix.wanted(["qwen3_nxt"])
    assert error.value.exit_code == 2

    def damaged(_name: str) -> Path:
        path = tmp_path / "conformance.json"
        path.write_text("{}")
        return path

    monkeypatch.setattr(shipped, "data", damaged)
    with pytest.raises(UnreadableInput, match="no conformance table"):
        published(["llama"])


@pytest.mark.full
def test_the_whole_matrix_is_aspublished() -> None:
    now = table.of(matrix.rows())
    assert [one for one in table.compared(now, published()) if one.verdict != "same"] == []
    assert now.passed >= ENOUGH
