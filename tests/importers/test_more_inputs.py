"""What the given files lack: several runners in one log, panics, vmmap, mlx_lm.server, a watching script's mix, wrapped and shortened pastes."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.errors import BadValue, UnreadableInput
from kvlab.importers import import_file
from kvlab.policy import Policy
from kvlab.views.card import summary
from tests.importers.read import FIXTURES, GB, GIB, gib, mib, observed, read, requests, rows


def test_two_runners_and_their_tries() -> None:
    imported = read("more/two_runners.log")
    rec = imported.recording
    assert requests(rec, "tokens", "matched", "cached", "generated", "counted", "peak", "nodes") == [
        (50, 0, 0, 10, mib(2), gib(4.5), 2),
        (30, 0, 0, 4, mib(3), gib(3.3), 2),
        (60, 59, 59, 5, mib(4), gib(4.6), 3),
    ]
    assert rows(rec, "runner_changed", "state", "model", "pid", "port") == [
        ("starting", "lab-a:4b-mlx", None, 62001),
        ("ready", "", None, 62001),
        ("loaded", "lab-a:4b-mlx", 501, None),
        ("starting", "lab-b:4b-mlx", None, 62002),
        ("ready", "", None, 62002),
        ("loaded", "lab-b:4b-mlx", 502, None),
        ("stopping", "", 501, None),
    ]
    # the first runner's trie grew and went with it, the second one's is there
    ended = {(start, end): died is not None for start, end, died in rec.nodes.select("start", "end", "died").rows() if end}
    assert ended == {(0, 59): True, (59, 64): True, (0, 33): False}
    assert rec.manifest.origin["ollama"] == "0.33.0"
    assert rec.policy.to_dict() == Policy.ollama("0.33.0").to_dict()
    assert observed(rec, "system_total") == [(48 * GIB,)]
    assert observed(rec, "swap_free") == [(2 * GIB,)]
    assert rows(rec, "served", "label", "status", "seconds") == [("POST /api/chat", 200, 1.25)]


def test_what_was_not_understood_is_counted_with_its_place() -> None:
    imported = read("more/two_runners.log")
    messages = [message for (message,) in rows(imported.recording, "warned", "message")]
    assert messages == [
        "several runners were alive at once; records do not name theirs, so requests and tries are kept apart by their figures only",
        "panic: runtime error: index out of range [5] with length 3",
        "a message of a later release: open ~/.ollama/models/blobs/x: no such file",
    ]
    # 10 tokens of which 9 are cached cannot leave 4
    assert imported.summary.of("not_understood") == {
        "other text": 1,
        "record: a message of a later release": 1,
        "cache hit whose figures contradict each other": 1,
    }
    assert imported.summary.of("known") == {
        "trace of a panic": 4,
        "sending an unloaded event": 1,
        "blank": 1,
        "line of another engine": 1,
    }
    assert imported.summary.total() == len((FIXTURES / "more/two_runners.log").read_text().splitlines())
    counted = {
        (label, understood): (count, line)
        for label, understood, count, line in rows(imported.recording, "lines_counted", "label", "understood", "count", "line")
    }
    assert counted["record: a message of a later release", "not_understood"] == (1, 36)
    assert "first in line 36" in str(imported.summary)


def test_vmmap_summary() -> None:
    imported = read("more/vmmap_summary.txt")
    rec = imported.recording
    assert imported.kind == "vmmap"
    assert rows(rec, "process_seen", "pid", "label") == [(4242, "ollama")]
    assert observed(rec, "footprint", "pid", "value", "unit") == [(4242, gib(13.7), "G")]
    assert observed(rec, "footprint_peak") == [(gib(20.1),)]
    assert observed(rec, "region_virtual", "label", "value") == [
        ("IOAccelerator", gib(12.9)),
        ("MALLOC_LARGE", mib(274)),
        ("mapped file", gib(1.1)),
        ("TOTAL", gib(14.3)),
    ]
    assert observed(rec, "region_swapped", "value") == [(mib(112),), (mib(3.5),), (0,), (mib(115.5),)]
    assert imported.summary.of("not_understood") == {}


def test_mlx_lm_server() -> None:
    imported = read("more/mlx_lm_server.log")
    rec = imported.recording
    assert imported.kind == "mlx-lm-log"
    # it does not tell how long a prompt was, only what was left to evaluate
    assert requests(rec, "request", "tokens", "left") == [(1, None, 4100), (2, None, 37)]
    assert observed(rec, "prompt_cache", "label", "value") == [("", 0), ("", 1_250_000_000), ("assistant", 750_000_000)]
    assert observed(rec, "prompt_cache_sequences", "number") == [(0,), (2,), (1,)]
    assert rows(rec, "served", "status") == [(200,), (200,), (400,)]
    assert observed(rec, "freed", "label", "value") == [("lab-27b", -51_560_000_000)]
    assert observed(rec, "freed_expected") == [(27 * GB,)]
    assert observed(rec, "active") == [(103_850_000_000,)]
    assert rows(rec, "runner_changed", "state", "model") == [("unloaded", "lab-27b")]
    assert rows(rec, "warned", "message") == [("JSONDecodeError: Expecting value",)]
    assert "secret" not in rec.events.write_csv()
    assert imported.summary.of("not_understood") == {}


def test_a_watching_scripts_mix() -> None:
    imported = read("more/cli_watch.txt")
    rec = imported.recording
    assert imported.kind == "samples"
    assert observed(rec, "size", "label", "value", "at") == [("lab-27b-mlx", 18 * GB, "2026-09-20T10:00:10Z")]
    assert observed(rec, "rss", "pid", "value") == [(4242, 1371136 * 1024)]
    assert observed(rec, "swap_used") == [(mib(871.25),)]
    assert imported.summary.of("not_understood") == {"other text": 1}


HIT = 'time=2026-08-21T10:00:00.005Z level=INFO source=prefix_cache.go:125 msg="cache hit" total=600 matched=512 cached=512 left=88'
WARN = 'time=2026-08-21T10:00:00.005Z level=WARN source=prefix_cache.go:125 msg="failed to restore cache, freeing all caches" offset=16383'


def _text(folder: Path, text: str | bytes, name: str = "paste.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("width", [40, 55, 72, 80, 93, 100, 110, 117])
@pytest.mark.parametrize("glue", ["", " "], ids=["hard", "at_spaces"])
def test_wrapped_pastes(tmp_path: Path, width: int, glue: str) -> None:
    text = "\n".join(
        _wrap(line, width, at_spaces=bool(glue)) for line in (WARN, HIT.replace("512 cached=512 left=88", "512 cached=0 left=600").replace("hit", "miss"))
    )
    rec = import_file(_text(tmp_path, text), "ollama-log").recording
    assert requests(rec, "tokens", "matched", "cached", "left", "warnings") == [
        (600, 512, 0, 600, ["failed to restore cache, freeing all caches (offset 16383)"])
    ]


def _wrap(line: str, width: int, *, at_spaces: bool) -> str:
    import textwrap

    if at_spaces:
        return "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))
    pieces = [line[place : place + width] for place in range(0, len(line), width)]
    return "\n".join(pieces)


@pytest.mark.parametrize("width", [90, 100, 110, 120, 130])
def test_a_wrapped_dump(tmp_path: Path, width: int) -> None:
    lines = (FIXTURES / "logs/synthetic_v0.33.0_trace_full_request.log").read_text().splitlines()
    whole = read("logs/synthetic_v0.33.0_trace_full_request.log").recording
    imported = import_file(_text(tmp_path, "\n".join(_wrap(line, width, at_spaces=False) for line in lines)))
    names = ("start", "end", "user", "request")
    assert imported.recording.nodes.select(names).rows() == whole.nodes.select(names).rows()
    assert imported.recording.spans.select("start", "end", "state", "counted").rows() == whole.spans.select("start", "end", "state", "counted").rows()
    assert requests(imported.recording, "tokens", "generated", "peak", "counted") == requests(whole, "tokens", "generated", "peak", "counted")
    # records that are only counted are taken at their first line, so their rests are nobody's, and are counted
    assert set(imported.summary.of("not_understood")) <= {"other text", "record cut short"}


def test_windows_lines_a_byte_order_mark_and_utf_16(tmp_path: Path) -> None:
    for number, data in enumerate((HIT.replace("\n", "\r\n").encode() + b"\r\n", b"\xef\xbb\xbf" + HIT.encode(), (HIT + "\r\n").encode("utf-16"))):
        rec = import_file(_text(tmp_path, data, f"{number}.log")).recording
        assert requests(rec, "tokens", "left") == [(600, 88)]


def test_a_prefix_before_the_record(tmp_path: Path) -> None:
    rec = import_file(_text(tmp_path, f"Aug 21 10:00:00 box ollama[77]: {HIT}\n")).recording
    assert requests(rec, "tokens", "left") == [(600, 88)]


def test_lines_of_64_kib_and_endless_ones(tmp_path: Path) -> None:
    long = 'time=2026-08-21T10:00:00.001Z level=INFO source=x.go:1 msg="speculative decode stats" depth_over_time="' + "2.0/2 " * 11_000 + '"'
    assert len(long) > 1 << 16
    imported = import_file(_text(tmp_path, f"{HIT}\n{long}\n{'x' * 5_000_000}\n{HIT}\n{'y' * 3_000_000}"))
    assert requests(imported.recording, "tokens") == [(600,), (600,)]
    assert imported.summary.of("known") == {"speculative decode stats": 1}
    assert imported.summary.of("not_understood") == {"other text": 2}


def test_an_unrelated_text_is_refused_and_what_can_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"(?s)'paste.txt' is of no kind.*ollama-log.*vmmap.*table") as shown:
        import_file(_text(tmp_path, "Dear diary,\n\ntoday I went for a walk, and it was nice.\nThen I slept.\n"))
    assert shown.value.exit_code == 3
    with pytest.raises(UnreadableInput, match=r"nothing in 'paste.txt' could be read as vmmap"):
        import_file(_text(tmp_path, "Dear diary,\n"), "vmmap")
    with pytest.raises(UnreadableInput, match="is empty"):
        import_file(_text(tmp_path, ""))
    with pytest.raises(UnreadableInput, match="zero bytes"):
        import_file(_text(tmp_path, b"\x7fELF\0\0\0\0"))
    with pytest.raises(UnreadableInput, match="there is no file"):
        import_file(tmp_path / "none.log")
    with pytest.raises(BadValue, match="no input is of kind 'novel'"):
        import_file(_text(tmp_path, HIT), "novel")


HOME = "/Users" + "/alice"


def test_no_home_folder_and_no_address_is_kept(tmp_path: Path) -> None:
    text = (
        f'time=2026-08-21T10:00:00.001Z level=ERROR source=x.go:1 msg="error loading llama server" error="open {HOME}/.ollama/x: denied"\n'
        '[GIN] 2026/08/22 - 08:00:04 | 200 |     1.250s |    192.168.7.9 | POST     "/api/chat"\n'
    )
    shown = import_file(_text(tmp_path, text)).recording.events.write_csv()
    assert "alice" not in shown
    assert "192.168" not in shown
    assert "~/.ollama/x" in shown


def test_a_table_inside_an_issues_text(tmp_path: Path) -> None:
    text = (FIXTURES / "samples/state_rss_swap.md").read_text()
    imported = import_file(_text(tmp_path, f"Hello, I see this, on two machines:\n\n{text}\nIs it a leak, or not?\n"))
    assert imported.kind == "table"
    assert observed(imported.recording, "rss", "value")[-1] == (68_100_000_000,)
    assert imported.summary.of("not_understood") == {"other text": 2}
    assert imported.summary.total() == len(text.splitlines()) + 4


def test_a_programs_own_log_is_not_mlx_lms(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="no kind"):
        import_file(_text(tmp_path, "2026-09-20 10:00:00,123 - ERROR - the printer is on fire\n2026-09-20 10:00:01,123 - INFO - out\n"))


def test_what_cannot_be_read_replaces_no_recording(tmp_path: Path) -> None:
    out = tmp_path / "mine.kvrec"
    import_file(FIXTURES / "samples/mlxrunner.log", out=out)
    with pytest.raises(UnreadableInput):
        import_file(_text(tmp_path, "Dear diary,\n"), "vmmap", out)
    assert kvlab.load(out).requests.height == 2


@pytest.mark.parametrize("name", ["logs/synthetic_v0.33.0_trace_full_request.log", "samples/cold_warm.csv", "samples/ollama_ps.txt", "more/two_runners.log"])
def test_an_import_shows_itself(name: str) -> None:
    rec = read(name).recording
    assert "0 B" not in repr(rec)
    assert "0 B" not in summary(rec)[-1][1]
    assert rec.at(rec.events.height - 1).seq == rec.events.height - 1
