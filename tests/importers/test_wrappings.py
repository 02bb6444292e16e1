"""What others wrap around a log: colours, other line ends, a container's JSON, pipes, a beginning in the middle, and words of another language."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from kvlab.errors import UnreadableInput
from kvlab.importers import import_file
from tests.importers.read import FIXTURES, gib, observed, rows

LOG = FIXTURES / "logs" / "synthetic_v0.33.0_trace_full_request.log"


def _like_plain(path: Path) -> None:
    wrapped, plain = import_file(path), import_file(LOG)
    assert wrapped.summary.of("not_understood") == plain.summary.of("not_understood")
    assert wrapped.summary.of("read") == plain.summary.of("read")
    for name in ("requests", "nodes", "spans"):
        assert_frame_equal(getattr(wrapped.recording, name), getattr(plain.recording, name))


def _lines() -> list[str]:
    return LOG.read_text(encoding="utf-8").splitlines()


def test_colours_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ansi.log"
    path.write_text("".join(f"\x1b[36m{line.replace('level=', chr(27) + '[1;32mlevel=')}\x1b[0m\n" for line in _lines()))
    _like_plain(path)


def test_lines_that_end_in_carriage_returns_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "cr.log"
    path.write_bytes("\r".join(_lines()).encode() + b"\r")
    _like_plain(path)


def test_a_containers_json_lines_are_its_log(tmp_path: Path) -> None:
    path = tmp_path / "docker-json.log"
    path.write_text("".join(json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-09-20T14:00:00.1Z"}) + "\n" for line in _lines()))
    _like_plain(path)


def test_records_in_json_are_records(tmp_path: Path) -> None:
    record = {"time": "2026-09-20T14:00:00.007Z", "level": "INFO", "source": {"file": "/x/prefix_cache.go", "line": 125}}
    records = [record | {"msg": "cache miss", "total": 9000, "matched": 0, "cached": 0, "left": 9000}, record | {"msg": "peak memory", "size": "17.84 GiB"}]
    path = tmp_path / "json.log"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    rec = import_file(path).recording
    assert rec.requests.select("tokens", "matched", "left", "peak").rows() == [(9000, 0, 9000, gib(17.84))]


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(LOG.read_bytes(),))
    writer.start()
    _like_plain(path)
    writer.join()


def test_what_was_not_given_is_not_to_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ps.txt"
    path.write_text("Mach Virtual Memory Statistics: (page size of 16384 bytes)\n")
    with pytest.raises(UnreadableInput) as raised:
        import_file(path)
    assert "leave --as out" not in str(raised.value)
    with pytest.raises(UnreadableInput) as raised:
        import_file(path, "ollama-ps")
    assert "leave --as out" in str(raised.value)


def test_a_log_that_begins_inside_a_dump_tells_no_request_of_it(tmp_path: Path) -> None:
    lines = _lines()
    first = next(place for place, line in enumerate(lines) if 'msg="  ' in line)
    path = tmp_path / "cut.log"
    path.write_text("\n".join(lines[first:]) + "\n")
    rec = import_file(path).recording
    assert rec.requests.height == 0
    assert rows(rec, "bytes_read", "request") == []
    # its end is there: of that only the figure is kept
    assert observed(rec, "peak", "value", "request") == [(gib(1.5), 0)]


def test_activity_monitor_in_german(tmp_path: Path) -> None:
    path = tmp_path / "am.txt"
    path.write_text(
        "Prozessname: ollama   Speicher: 23,14 GB   Realer Speicher: 1,31 GB   PID: 4242\nPhysischer Speicher: 48,00 GB\n"
        "Verwendeter Speicher: 41,20 GB\nVerwendeter Swap: 2,50 GB\nSpeicherdruck: gelb\n"
    )
    rec = import_file(path).recording
    assert observed(rec, "footprint", "value", "label", "pid") == [(gib(23.14), "ollama", 4242)]
    assert observed(rec, "rss") == [(gib(1.31),)]
    assert observed(rec, "physical") == [(gib(48),)]
    assert observed(rec, "memory_used") == [(gib(41.2),)]
    assert observed(rec, "swap_used") == [(gib(2.5),)]
    assert observed(rec, "pressure", "words") == [("gelb",)]


@pytest.mark.parametrize("size", ["NaN", '"18 GB"', "[1]", "-5", "1e400", "true"])
def test_a_size_that_is_no_number_of_bytes_is_not_understood(tmp_path: Path, size: str) -> None:
    path = tmp_path / "ps.json"
    good = '{"models":[{"name":"a","size":5,"size_vram":5}]}'
    path.write_text(f'{good}\n{{"models":[{{"name":"a","size":{size},"size_vram":7}}]}}\n')
    imported = import_file(path)
    assert imported.summary.of("not_understood") == {"answer of /api/ps with a figure that is none": 1}
    assert observed(imported.recording, "size") == [(5,)]
    assert observed(imported.recording, "size_vram") == [(5,), (7,)]


def test_a_text_in_utf_16_without_a_mark_and_one_that_goes_on_in_it(tmp_path: Path) -> None:
    plain = import_file(LOG).recording.requests
    data = LOG.read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    whole, mixed, stray = tmp_path / "whole.log", tmp_path / "mixed.log", tmp_path / "stray.log"
    whole.write_bytes(data.decode().encode("utf-16-be"))
    mixed.write_bytes(data[:half] + data[half:].decode().encode("utf-16"))
    stray.write_bytes(data[:100] + b"\0" + data[100:])
    for path in (whole, mixed, stray):
        assert_frame_equal(import_file(path).recording.requests, plain)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_text_that_begins_in_utf_16_and_goes_on_in_utf_8(tmp_path: Path, encoding: str, part: float) -> None:
    lines = LOG.read_bytes().splitlines(keepends=True)
    begin = int(part * len(lines))
    path = tmp_path / "server.log"
    path.write_bytes(b"".join(lines[:begin]).decode().encode(encoding) + b"".join(lines[begin:]))
    assert_frame_equal(import_file(path).recording.requests, import_file(LOG).recording.requests)


def test_a_text_in_chinese_and_utf_16_is_not_taken_for_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    for words in ("内存占用从一开始就在增长" * 20, "慧摧楧汩" * 8):
        path.write_bytes((LOG.read_text(encoding="utf-8") + words + "\n" + LOG.read_text(encoding="utf-8")).encode("utf-16"))
        assert import_file(path).requests == 2 * import_file(LOG).requests


def test_a_first_line_of_ten_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * 10_000_000 + b"\n" + LOG.read_bytes())
    assert_frame_equal(import_file(path).recording.requests, import_file(LOG).recording.requests)


def test_an_answer_in_one_line_longer_than_a_line_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "ps.json"
    models = [{"name": f"model-{place}", "size": place + 1, "details": {"format": "x" * 300}} for place in range(900)]
    path.write_text(json.dumps({"models": models}))
    assert path.stat().st_size > 1 << 18
    imported = import_file(path)
    assert imported.kind == "api-ps"
    assert imported.recording.observed.height == 900
