"""`kvlab import`, `kvlab export`, `kvlab diagnose FILE`."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab.importers import KINDS
from kvlab.studies.exporters import EXPORTERS

Kvlab = Callable[..., Any]

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    kvlab.twin(["recurrent", "kv"]).run("chat:3", out=str(tmp_path / "run.kvrec"), progress=False)
    return tmp_path / "run.kvrec"


def test_import_says_what_it_read_and_keeps_it(kvlab_says: Kvlab, tmp_path: Path) -> None:
    out = tmp_path / "log.kvrec"
    said = kvlab_says("import", LOGS / "real_18267_v0.33.3_abridged.txt", "-o", out)
    assert said.code == 0
    assert "ollama-log: 3 requests" in said.out
    assert "3 lines: 3 read, 0 known without figures, 0 not understood" in said.out
    assert str(out) in said.out
    assert kvlab.load(out).requests["cached"].to_list() == [16383, 32767, 32767]
    assert kvlab_says("report", out, "-o", tmp_path / "r.html").code == 0


def test_import_as_json_shows_what_was_not_understood(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("cache hit total=5 matched=4 cached=4 left=1\nwhat is this\n\n")
    told = kvlab_says("import", path, "--json").json
    assert (told["kind"], told["requests"], told["lines"]) == ("ollama-log", 1, 3)
    assert (told["read"], told["known"], told["not_understood"]) == ({"cache hit": 1}, {"blank": 1}, {"other text": 1})
    assert told["recording"] is None
    said = kvlab_says("import", path)
    assert "not understood: 1 x other text, first in line 2: what is this" in said.out
    assert "-o NAME.kvrec" in said.out


def test_an_unrelated_text_is_3_and_names_what_can_be_read(kvlab_says: Kvlab, tmp_path: Path) -> None:
    path = tmp_path / "diary.txt"
    path.write_text("Dear diary,\ntoday was a good day.\n")
    for command in ("import", "diagnose"):
        said = kvlab_says(command, path)
        assert said.code == 3
        assert "diary.txt" in said.err
        assert all(kind in said.err for kind in KINDS)
    assert kvlab_says("import", path, "--as", "novel").code == 2
    assert kvlab_says("import", tmp_path / "none.log").code == 3
    assert kvlab_says("import", tmp_path).code == 3


def test_diagnose_imports_first(kvlab_says: Kvlab) -> None:
    findings = kvlab_says("diagnose", LOGS / "real_18267_v0.33.3_abridged.txt", "--json").json["findings"]
    (reuse,) = [finding for finding in findings if finding["question"] == "why_not_reused"]
    assert reuse["verdict"] == "reuse_limited_by_restore_point"
    assert reuse["numbers"]["matched_tokens"] == 21742 + 36620 + 35735
    assert reuse["numbers"]["cached_tokens"] == 16383 + 32767 + 32767


def test_diagnose_and_import_read_a_packed_log_and_a_pipe(kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = LOGS / "real_18267_v0.33.3_abridged.txt"
    plain = kvlab_says("diagnose", log, "--json").json
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert kvlab_says("diagnose", packed, "--json").json == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    assert kvlab_says("diagnose", "-", "--json").json == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    assert kvlab_says("import", "-", "--json").json["requests"] == 3


def test_export_csv(kvlab_says: Kvlab, run: Path, tmp_path: Path) -> None:
    said = kvlab_says("export", run, "--as", "csv", "-o", tmp_path / "tables")
    assert said.code == 0
    recording = kvlab.load(run)
    for name in ("requests", "bytes", "nodes", "spans", "observed"):
        assert str(tmp_path / "tables" / f"{name}.csv") in said.out
    read = pl.read_csv(tmp_path / "tables" / "requests.csv")
    assert (
        read.select("request", "tokens", "matched", "cached", "counted").rows()
        == recording.requests.select("request", "tokens", "matched", "cached", "counted").rows()
    )
    assert pl.read_csv(tmp_path / "tables" / "bytes.csv").height == recording.bytes.height


def test_export_names_its_ways(kvlab_says: Kvlab, run: Path) -> None:
    said = kvlab_says("export", run, "--as", "song")
    assert said.code == 2
    assert all(way in said.err for way in EXPORTERS)


def test_read_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("request;SIZE GB\n1;18,5\n2;19\n")
    assert kvlab.read_table(path).observed["value"].to_list() == [18_500_000_000, 19_000_000_000]
