"""A server's log and samples of its bytes, in one text or in several files: both are read, on one time axis."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.errors import BadValue
from kvlab.importers import import_file
from kvlab.importers.merged import import_files
from tests.importers.read import GB, observed, requests, rows

_LISTING = "NAME ID SIZE PROCESSOR CONTEXT UNTIL".replace(" ", "   ")


def _record(second: int, words: str) -> str:
    return f"time=2026-09-20T10:00:{second:02d}.000Z level=INFO source=prefix_cache.go:125 {words}"


def _request(second: int, total: int) -> list[str]:
    return [
        _record(second, f'msg="cache miss" total={total} matched=0 cached=0 left={total}'),
        _record(second + 2, 'msg="peak memory" size="17.84 GiB"'),
    ]


def _ps(second: int, size: int, form: str) -> list[str]:
    stamp = f"2026-09-20T10:00:{second:02d}Z"
    if form == "json":
        return [f'{{"ts":"{stamp}","body":{{"models":[{{"name":"lab:4b","size":{size * GB},"size_vram":{size * GB}}}]}}}}']
    return [f"===== {stamp} =====", _LISTING, f"lab:4b   0123456789ab   {size} GB   100% GPU   65536   9 minutes from now"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_samples_between_the_lines_of_a_log_are_read(tmp_path: Path, form: str) -> None:
    path = tmp_path / "lp.log"
    path.write_text("\n".join([*_request(1, 100), *_ps(5, 18, form), *_request(11, 200), *_ps(15, 19, form)]) + "\n")
    imported = import_file(path)
    assert imported.kind == "ollama-log"
    assert imported.summary.of("not_understood") == {}
    rec = imported.recording
    assert requests(rec, "tokens") == [(100,), (200,)]
    assert observed(rec, "size", "value", "label", "request") == [(18 * GB, "lab:4b", 1), (19 * GB, "lab:4b", 2)]
    assert [t for (t,) in rows(rec, "listed", "t")] == [4.0, 14.0]
    assert [t for (t,) in rows(rec, "matched", "t")] == [0.0, 10.0]


@pytest.mark.parametrize("form", ["text", "json"])
def test_several_files_make_one_recording(tmp_path: Path, form: str) -> None:
    log, ps = tmp_path / "server.log", tmp_path / "ps.txt"
    log.write_text("\n".join([*_request(1, 100), *_request(11, 200)]) + "\n")
    ps.write_text("\n".join([*_ps(0, 17, form), *_ps(5, 18, form), *_ps(15, 19, form)]) + "\n")
    for paths in ((log, ps), (ps, log)):
        imported = import_files(paths)
        rec = imported.recording
        assert requests(rec, "tokens") == [(100,), (200,)]
        assert observed(rec, "size", "value", "request") == [(17 * GB, 0), (18 * GB, 1), (19 * GB, 2)]
        assert [t for (t,) in rows(rec, "listed", "t")] == [0.0, 5.0, 15.0]
        assert [t for (t,) in rows(rec, "matched", "t")] == [1.0, 11.0]
        assert rec.events.get_column("seq").to_list() == list(range(rec.events.height))
        assert rec.manifest.source == "ollama-log"
        assert rec.manifest.model == "lab:4b"
        assert imported.requests == 2


def test_a_log_that_was_rotated_is_one_log(tmp_path: Path) -> None:
    first, second = tmp_path / "server-1.log", tmp_path / "server.log"
    lines = [*_request(1, 100), *_request(11, 200), *_request(21, 300)]
    first.write_text("\n".join(lines[:3]) + "\n")
    second.write_text("\n".join(lines[3:]) + "\n")
    whole = tmp_path / "whole.log"
    whole.write_text("\n".join(lines) + "\n")
    expected = requests(import_file(whole).recording, "tokens", "peak")
    assert len(expected) == 3
    assert requests(import_files([second, first]).recording, "tokens", "peak") == expected


def test_a_recording_among_several_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="--also"):
        import_files([tmp_path, tmp_path])


@pytest.mark.parametrize("size", ["NaN", '"18 GB"', "-5"])
def test_an_answer_in_a_log_with_a_size_that_is_none_is_read_in_part(tmp_path: Path, size: str) -> None:
    path = tmp_path / "lp.log"
    answer = f'{{"ts":"2026-09-20T10:00:05Z","body":{{"models":[{{"name":"lab:4b","size":{size},"size_vram":7}}]}}}}'
    path.write_text("\n".join([*_request(1, 100), answer, *_request(11, 200)]) + "\n")
    imported = import_file(path)
    assert imported.summary.of("not_understood") == {"answer of /api/ps with a figure that is none": 1}
    assert observed(imported.recording, "size") == []
    assert observed(imported.recording, "size_vram", "value", "request") == [(7, 1)]


def test_pieces_that_overlap_count_a_request_once(tmp_path: Path) -> None:
    lines = [line for place in range(12) for line in _request(3 * place + 1, 100 + place)]
    first, second, whole = tmp_path / "server-1.log", tmp_path / "server.log", tmp_path / "whole.log"
    first.write_text("\n".join(lines[:16]) + "\n")
    second.write_text("\n".join(lines[9:]) + "\n")
    whole.write_text("\n".join(lines) + "\n")
    expected = requests(import_file(whole).recording, "tokens", "peak")
    assert len(expected) == 12
    assert requests(import_files([second, first]).recording, "tokens", "peak") == expected


def test_peaks_of_two_runners_whose_requests_overlap_are_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    runner = 'time=2026-09-20T10:00:00.000Z level=INFO source=client.go:1 msg="starting mlx runner subprocess" model=lab-{0}:4b port=6200{1}'
    began = [_record(second, f'msg="cache miss" total={total} matched=0 cached=0 left={total}') for second, total in ((1, 100), (2, 200))]
    ended = [_record(second, f'msg="peak memory" size="{size}"') for second, size in ((3, "20.00 GiB"), (4, "3.00 GiB"))]
    path.write_text("\n".join([runner.format("a", 1), runner.format("b", 2), *began, *ended, *_request(11, 300)]) + "\n")
    rec = import_file(path).recording
    assert requests(rec, "tokens", "peak") == [(100, None), (200, None), (300, round(17.84 * 2**30))]
    assert observed(rec, "peak", "request", "value") == [(0, 20 * 2**30), (0, 3 * 2**30)]
    assert any("several runners" in message for (message,) in rows(rec, "warned", "message"))
