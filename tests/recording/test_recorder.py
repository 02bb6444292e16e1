"""Writing: parts as events happen, what a kill leaves, privacy, places that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import polars as pl
import pytest
from filelock import FileLock, Timeout

from kvlab import temporary
from kvlab.errors import BadValue, KvlabError, UnreadableInput
from kvlab.events import PRIVATE_COLUMNS, Event, Loaded, Log, RequestBegan, RequestClosed
from kvlab.recording import SCHEMA, Recorder, Recording, frame, load, parts
from tests.house.tree import ROOT
from tests.recording.streams import PRIVATE, manifest, random_events

PATIENCE_S = 120


def _record(events: list[Event], out: Path | None = None, *, store_text: bool = False) -> Recording:
    recorder = Recorder(manifest(), out=out, store_text=store_text)
    for event in events:
        recorder.write(event)
    return recorder.close()


def _part_files(folder: Path) -> list[Path]:
    return sorted((folder / "events").glob("part-*.parquet"))


def _wait_for(what: Callable[[], bool]) -> None:
    """Poll until it holds; the limit only ends a test that has failed."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextlib.contextmanager
def _child(out: Path, way: str) -> Generator[subprocess.Popen[str], None, None]:
    words = [sys.executable, "-m", "tests.recording.killed_run", str(out), way]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            # else a test that fails would wait for it for ever
            child.kill()


def _said(child: subprocess.Popen[str], lines: int) -> list[int]:
    assert child.stdout is not None
    return [int(child.stdout.readline()) for _ in range(lines)]


def test_a_kill_between_requests_loses_none_that_had_ended(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    with _child(out, "requests") as child:
        said = _said(child, 5)
        child.kill()
        assert child.stdout is not None
        # a line may be cut short by the kill
        said += [int(line) for line in child.stdout if line.endswith("\n")]
    recording = load(out)
    assert not recording.complete
    assert "cut short" in repr(recording)
    assert recording.events["seq"].to_list() == list(range(recording.events.height))
    assert recording.events.item(-1, "seq") >= said[-1]
    ended = recording.requests.drop_nulls("generated")
    assert ended["generated"].to_list() == ended["tokens"].to_list() == list(range(1, ended.height + 1))
    assert ended.height >= len(said)


def test_a_kill_in_a_long_silence_loses_nothing_that_had_waited(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    with _child(out, "silent") as child:
        (said,) = _said(child, 1)
        _wait_for(lambda: bool(_part_files(out)) and load(out).events.item(-1, "seq") == said)
        child.kill()
    recording = load(out)
    assert not recording.complete
    assert recording.events.height == said + 1


def test_a_second_run_is_refused_while_the_first_writes_and_not_after_it_was_killed(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    with _child(out, "requests") as child:
        _said(child, 1)
        with pytest.raises(UnreadableInput, match="another run is writing"):
            Recorder(manifest(), out=out)
        child.kill()
        child.wait(PATIENCE_S)
    recording = _record([Loaded(seq=0)], out)
    assert recording.complete
    assert [path.name for path in tmp_path.iterdir()] == ["run.kvrec"]


def test_two_recorders_of_one_program_do_not_share_a_folder_and_a_save_does_not_go_under_one(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    with Recorder(manifest(), out=out):
        with pytest.raises(UnreadableInput, match="another run is writing"):
            Recorder(manifest(), out=out)
        with pytest.raises(UnreadableInput, match="another run is writing"):
            _record([Loaded(seq=0)]).save(out)
    Recorder(manifest(), out=out).close()


def test_a_program_that_ends_without_closing_leaves_all_its_events(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    with _child(out, "forgets") as child:
        (said,) = _said(child, 1)
        assert child.wait(PATIENCE_S) == 0
    recording = load(out)
    assert recording.events.height == said + 1
    assert not recording.complete


def test_the_manifest_is_there_before_any_event(tmp_path: Path) -> None:
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    recording = load(recorder.path)
    assert recording.manifest == recorder.manifest
    assert not recording.complete
    recorder.close()


def test_a_part_is_written_when_a_request_ends(tmp_path: Path) -> None:
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    log = Log()
    for request in (1, 2):
        log.request = request
        log.append(Loaded())
        log.append(RequestClosed())
        for event in log.drain():
            recorder.write(event)
        assert load(recorder.path).events.height == 2 * request
    assert recorder.close().complete


def test_very_many_short_requests_do_not_make_a_part_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PARTS_AT_WILL", 3)
    monkeypatch.setattr(parts, "REST_S", 3600.0)
    monkeypatch.setattr(parts, "WRITE_EVERY_S", 3600.0)
    log = Log()
    for _ in range(50):
        log.append(RequestClosed())
    recording = _record(list(log.drain()), tmp_path / "run.kvrec")
    assert len(_part_files(tmp_path / "run.kvrec")) == 4
    assert recording.complete
    assert recording.events["seq"].to_list() == list(range(50))


def test_many_waiting_events_are_written_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvlab.recording.recorder.MOST_WAITING", 10)
    recording = _record([Loaded(seq=seq) for seq in range(25)])
    assert recording.path is not None
    assert [pl.read_parquet(part).height for part in _part_files(recording.path)] == [10, 10, 5]


def test_parts_have_the_columns_of_the_contract(tmp_path: Path) -> None:
    _record(random_events(1), tmp_path / "run.kvrec")
    for part in _part_files(tmp_path / "run.kvrec"):
        assert pl.read_parquet_schema(part) == SCHEMA


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    events = random_events(2, requests=10)
    recording = _record(events, tmp_path / "run.kvrec", store_text=True)
    assert recording.events.equals(frame(events))
    assert recording.manifest.stored_text
    assert load(tmp_path / "run.kvrec").events.equals(frame(events))


@pytest.mark.parametrize("kept", [False, True])
def test_prompts_and_answers_reach_the_disk_only_when_asked(tmp_path: Path, *, kept: bool) -> None:
    out = tmp_path / "run.kvrec"
    recording = _record(random_events(4, steps=60), out, store_text=kept)
    stored = pl.concat([pl.read_parquet(part) for part in _part_files(out)])
    for name in PRIVATE_COLUMNS:
        assert (stored[name].null_count() < stored.height) is kept
    assert (PRIVATE in stored.write_csv()) is kept
    assert any(PRIVATE.encode() in path.read_bytes() for path in out.rglob("*") if path.is_file()) is kept
    assert recording.manifest.stored_text is kept


PROMPT = "Once upon a time a very small robot counted every byte it met"


@pytest.mark.parametrize(
    ("label", "stored"), [(PROMPT, ""), (PROMPT[:30], ""), ("Once", "Once"), ("robot 1", "robot 1"), ("a story of robots", "a story of robots")]
)
def test_a_label_that_tells_the_prompt_reaches_the_disk_only_when_asked(label: str, stored: str) -> None:
    for kept in (False, True):
        recorder = Recorder(manifest(), store_text=kept)
        recorder.write(RequestBegan(seq=1, request=1, label=label, text=PROMPT))
        assert recorder.close().requests["label"].to_list() == [label if kept else stored]


def test_a_temporary_folder_dies_with_both_objects() -> None:
    recorder = Recorder(manifest())
    recorder.write(Loaded(seq=0))
    recording = recorder.close()
    folder = recorder.path
    assert recording.path == folder
    del recorder
    gc.collect()
    assert folder.is_dir()
    del recording
    gc.collect()
    assert not folder.exists()


def test_a_temporary_folder_dies_with_a_recorder_that_is_never_closed() -> None:
    recorder = Recorder(manifest())
    recorder.write(Loaded(seq=0))
    folder = recorder.path
    del recorder
    gc.collect()
    assert not folder.exists()


def test_a_forgotten_recorder_leaves_all_its_events(tmp_path: Path) -> None:
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    recorder.write(Loaded(seq=0))
    del recorder
    gc.collect()
    assert load(tmp_path / "run.kvrec").events.height == 1


def test_closing_twice_gives_the_same_recording_and_writing_then_is_an_error() -> None:
    recorder = Recorder(manifest())
    assert recorder.close() is recorder.close()
    with pytest.raises(RuntimeError, match="closed"):
        recorder.write(Loaded())


def test_with_closes_after_success_and_leaves_an_incomplete_recording_after_an_error(tmp_path: Path) -> None:
    with Recorder(manifest(), out=tmp_path / "good.kvrec") as recorder:
        recorder.write(Loaded(seq=0))
    assert load(tmp_path / "good.kvrec").complete
    with pytest.raises(ZeroDivisionError):
        _fail_while_recording(tmp_path / "bad.kvrec")
    recording = load(tmp_path / "bad.kvrec")
    assert recording.events.height == 1
    assert not recording.complete


def _fail_while_recording(out: Path) -> None:
    with Recorder(manifest(), out=out) as recorder:
        recorder.write(Loaded(seq=0))
        raise ZeroDivisionError


def test_a_part_that_cannot_be_written_is_told_and_its_events_are_kept(tmp_path: Path) -> None:
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    events = recorder.path / "events"
    events.rename(tmp_path / "away")
    recorder.write(Loaded(seq=0))
    recorder.write(Loaded(seq=1))
    with pytest.raises(UnreadableInput, match="cannot be written") as caught:
        recorder.flush()
    assert caught.value.exit_code == 3
    (tmp_path / "away").rename(events)
    assert recorder.close().events["seq"].to_list() == [0, 1]


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    assert _record([], tmp_path / "a" / "b" / "run.kvrec").complete


@pytest.mark.parametrize("place", ["file", "file/run.kvrec", "/dev/null/run.kvrec"])
def test_a_place_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UnreadableInput, match="cannot be written") as caught:
        Recorder(manifest(), out=tmp_path / place)
    assert caught.value.exit_code == 3
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("locked", [False, True])
def test_a_folder_in_which_no_file_can_be_made_is_not_taken_for_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, locked: bool) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    def held(self: FileLock, **_: object) -> None:
        raise Timeout(self.lock_file)

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(FileLock, "acquire", held if locked else refuse)
    with pytest.raises(UnreadableInput, match="cannot be written") as caught:
        Recorder(manifest(), out=tmp_path / "run.kvrec")
    assert str(tmp_path) in caught.value.what
    assert "no such file or directory" in caught.value.why
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("names", [["notes.txt"], ["manifest.json", "index.html"]])
def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, names: list[str]) -> None:
    out = tmp_path / "site"
    out.mkdir()
    for name in names:
        (out / name).write_text("mine")
    with pytest.raises(BadValue, match="not a recording"):
        Recorder(manifest(), out=out)
    assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys(names, "mine")


def test_an_archive_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="pack"):
        Recorder(manifest(), out=tmp_path / "run.kvrec.zip")


def test_an_earlier_recording_is_replaced_and_its_object_stays_right(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    first = _record([Loaded(seq=0, weights=1), Loaded(seq=1, weights=2)], out)
    second = _record([Loaded(seq=0, weights=3)], out)
    assert first.events["weights"].to_list() == [1, 2]
    assert second.events["weights"].to_list() == [3]
    assert load(out).events["weights"].to_list() == [3]
    assert [path.name for path in tmp_path.iterdir()] == ["run.kvrec"]


def test_an_earlier_recording_survives_when_it_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run.kvrec"
    _record([Loaded(seq=0, weights=1)], out)
    rename = Path.rename

    def refuse_new(path: Path, target: Path) -> Path:
        if ".new-" in path.name:
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse_new)
    with pytest.raises(KvlabError, match="permission denied"):
        Recorder(manifest(), out=out)
    assert load(out).events["weights"].to_list() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["run.kvrec"]


def test_a_forked_child_does_not_remove_its_parents_folder() -> None:
    # os.fork itself warns in a process with threads
    folder = Recorder(manifest())
    temporary._removed(folder.path.parent, os.open(os.devnull, os.O_RDONLY), os.getpid() + 1)
    assert folder.path.is_dir()
