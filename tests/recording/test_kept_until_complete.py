"""An earlier recording is not traded for a run that fails: it stays until the new one is complete, and what a failed run leaves is named."""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import kvlab
from kvlab.cli import main
from kvlab.errors import UnreadableInput
from kvlab.events import Loaded, RequestBegan, RequestClosed
from kvlab.recording import Recorder, Recording, load, place
from tests.house.tree import ROOT
from tests.recording.streams import manifest


@pytest.fixture
def good(tmp_path: Path) -> Path:
    out = tmp_path / "good.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(out), progress=False)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail_after(events: int, out: Path) -> None:
    with Recorder(manifest(), out=out) as recorder:
        for seq in range(events):
            recorder.write(Loaded(seq=seq))
        msg = "no more"
        raise RuntimeError(msg)


def test_a_failed_run_leaves_its_own_next_to_an_earlier_one(good: Path) -> None:
    before, unfinished = contents(good), good.with_name("good.unfinished.kvrec")
    for number in (1, 2):
        with pytest.raises(RuntimeError, match="no more") as caught:
            fail_after(3, good)
        own = unfinished if number == 1 else good.with_name("good.unfinished-2.kvrec")
        assert caught.value.__notes__ == [f"what was recorded until here is in {own}; the earlier recording {good} is as it was"]
        assert contents(good) == before
        assert load(own).events.height == 3


def test_a_run_that_recorded_nothing_leaves_nothing(good: Path) -> None:
    before = contents(good.parent)
    for out in (good, good.with_name("new.kvrec")):
        with pytest.raises(RuntimeError, match="no more"):
            fail_after(0, out)
    assert contents(good.parent) == before
    assert [path.name for path in good.parent.iterdir()] == ["good.kvrec"]


def test_a_complete_run_takes_the_place_and_leaves_nothing_else(good: Path) -> None:
    with Recorder(manifest(), out=good) as recorder:
        recorder.write(Loaded(seq=0))
        recorder.flush()
        assert load(good).requests.height == 2
    assert load(good).events.height == 1
    assert recorder.close().path == recorder.path == good
    assert [path.name for path in good.parent.iterdir()] == ["good.kvrec"]


def test_a_killed_run_leaves_the_earlier_one(good: Path) -> None:
    before = contents(good)
    with subprocess.Popen([sys.executable, "-m", "tests.recording.killed_run", str(good), "requests"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.kill()
    assert contents(good) == before
    assert load(good.with_name("good.unfinished.kvrec")).events.height > 0


def test_when_the_name_cannot_be_given_both_stay(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(manifest(), out=good)
    recorder.write(Loaded(seq=0))
    renames = itertools.count(1)
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if next(renames) == 2:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(place.Path, "rename", refused)
    with pytest.raises(UnreadableInput, match="cannot be written"):
        recorder.close()
    assert load(good).requests.height == 2
    assert load(good.with_name("good.unfinished.kvrec")).complete


def cut_archive(path: Path, lines: int) -> Path:
    line = 'time=2026-09-20T14:00:00.000Z level=INFO source=prefix_cache.go:1 msg="cache miss" total=9 matched=0 cached=0 left=9\n'
    packed = gzip.compress((line * lines).encode(), compresslevel=0)
    path.write_bytes(packed[: len(packed) * 2 // 3])
    return path


@pytest.mark.parametrize(
    "words",
    [("probe", "--url", "http://127.0.0.1:9"), ("run", "chat:5000", "--model", "tiny-hybrid"), ("import", "small.log.gz"), ("import", "large.log.gz")],
    ids=" ".join,
)
def test_a_failed_command_keeps_the_earlier_recording(
    good: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(good.parent)
    cut_archive(Path("small.log.gz"), 100)
    cut_archive(Path("large.log.gz"), 200_000)
    before, names = contents(good), {path.name for path in good.parent.iterdir()}
    assert main([*words, "--out", str(good)]) in {2, 3}
    said = capsys.readouterr().err
    assert said.startswith("kvlab: ")
    assert contents(good) == before
    left = {path.name for path in good.parent.iterdir()} - names
    assert left <= {"good.unfinished.kvrec"}
    assert all(name in said for name in left)


def test_a_request_that_ended_is_in_the_unfinished_one_at_once(good: Path) -> None:
    recorder = Recorder(manifest(), out=good)
    recorder.write(RequestBegan(seq=0, request=1))
    recorder.write(RequestClosed(seq=1, request=1))
    assert load(good.with_name("good.unfinished.kvrec")).events.height == 2
    recorder.close()


def killed_between_two_renames(good: Path) -> Path:
    """Leave what a kill leaves there: the earlier recording stepped aside, the complete new one has not its name yet."""
    Recording.of(manifest(), [Loaded(seq=0)]).save(good.with_name("good.unfinished.kvrec"))
    return good.rename(good.with_name(".good.kvrec.before-0123abcd"))


def test_what_a_kill_between_two_renames_hid_is_named(good: Path) -> None:
    aside = killed_between_two_renames(good)
    with pytest.raises(UnreadableInput) as caught:
        load(good)
    assert str(aside) in caught.value.hint
    assert str(good.with_name("good.unfinished.kvrec")) in caught.value.hint


def test_the_next_run_gives_a_hidden_recording_its_name_again(good: Path) -> None:
    before = contents(good)
    killed_between_two_renames(good)
    good.with_name(".good.kvrec.new-0123abcd").mkdir()
    recorder = Recorder(manifest(), out=good)
    assert contents(good) == before
    recorder.close()
    assert load(good).events.height == 0
    assert {path.name for path in good.parent.iterdir()} == {"good.kvrec", "good.unfinished.kvrec"}


def test_an_interruption_between_two_renames_loses_no_name(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(manifest(), out=good)
    renames = itertools.count(1)
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if next(renames) == 2:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(place.Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorder.close()
    assert load(good).requests.height == 2
