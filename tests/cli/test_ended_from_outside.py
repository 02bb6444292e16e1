"""What ends a command or takes its output away: signals, closed and narrow outputs, no room for temporary files. No traceback, documented codes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab import temporary
from kvlab.cli import main, signals
from kvlab.lab.twin import Twin
from tests.cli.conftest import Kvlab

Run = Callable[[Callable[[], object]], None]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Make a run of the twin do something else."""

    def does(something: Callable[[], object]) -> None:
        monkeypatch.setattr(Twin, "run", lambda *_, **__: something())

    return does


@pytest.fixture(autouse=True)
def usual_handlers() -> Generator[None]:
    """Answer signals as a program in the foreground does; one in the background ignores Ctrl-C."""
    before = {number: signal.signal(number, usual) for number, usual in signals.USUAL.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def raised_by_polars_and_again_by_python() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        send(signal.SIGINT)


def made_into_another_error() -> None:
    try:
        send(signal.SIGINT)
    except KeyboardInterrupt:
        msg = "returned a result with an exception set"
        raise SystemError(msg) from None


def lost_in_a_finalizer() -> None:
    class Lost:
        def __del__(self) -> None:
            send(signal.SIGINT)

    Lost()
    threading.Event().wait(60)
    pytest.fail("the run goes on")


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        (lambda: send(signal.SIGINT), 130, "interrupted"),
        (lambda: send(signal.SIGTERM), 143, "ended by SIGTERM"),
        (lambda: send(signal.SIGHUP), 129, "ended by SIGHUP"),
        (raised_by_polars_and_again_by_python, 130, "interrupted"),
        (made_into_another_error, 130, "interrupted"),
        (lost_in_a_finalizer, 130, "interrupted"),
    ],
)
def test_a_signal_stops_a_command_with_its_code(kvlab_says: Kvlab, running: Run, what: Callable[[], object], code: int, words: str) -> None:
    running(what)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    said = kvlab_says("twin", "unrelated:2")
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith(f"kvlab: {words}")
    assert "Traceback" not in said.err
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_defect_of_ours_is_no_interruption(kvlab_says: Kvlab, running: Run) -> None:
    running(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        kvlab_says("twin", "unrelated:2")


def test_sigterm_keeps_what_was_recorded(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Twin._stepped

    def stepped(self: Twin, runner: Any, request: Any, predict: Any) -> Any:
        for event in step(self, runner, request, predict):
            yield event
            if event.kind == "matched" and event.request == 3:
                send(signal.SIGTERM)

    monkeypatch.setattr(Twin, "_stepped", stepped)
    said = kvlab_says("twin", "unrelated:9", "--out", tmp_path / "t.kvrec")
    assert said.code == 143
    assert "what was recorded until here is in" in said.err
    assert kvlab.load(tmp_path / "t.kvrec").requests.height == 3


def test_a_closed_output_is_written_to_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["faults"]) == 0
    assert main(["faults", "none"]) == 2


def test_no_file_takes_the_place_of_a_closed_output(tmp_path: Path) -> None:
    line = f'"{sys.executable}" -m kvlab twin unrelated:2 --out t.kvrec >&- 2>&- <&-'
    assert subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, check=False, env=os.environ | {"PYTHONPATH": os.getcwd()}).returncode == 0  # noqa: PTH109
    assert kvlab.load(tmp_path / "t.kvrec").complete


class Gone(io.StringIO):
    """A stream whose reader has left."""

    def write(self, text: str, /) -> int:
        del text
        raise BrokenPipeError


def test_readers_that_leave_are_141_and_a_lost_message_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Gone())
    assert main(["diagnose", "/nowhere"]) == 3
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["faults"]) == 141


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_an_output_with_few_letters_gets_them_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoding: str) -> None:
    case = tmp_path / "c.json"
    name = "naïve ☃ 😀 \u202e \x1b[2J \ud800"
    case.write_text(json.dumps({"id": name, "workload": [{"tokens": [1, 2]}]}))
    for words in (["twin", str(case)], ["twin", str(case), "--json"]):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        assert main(words) == 0
        sys.stdout.flush()
        text = raw.getvalue().decode(encoding)
        assert "\x1b" not in text
        assert r"\u202e" in text
    assert json.loads(text)["workload"] in (name, name.replace("\ud800", "\ufffd"))


def test_no_room_for_temporary_files_is_said_and_needed_only_without_out(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    said = kvlab_says("twin", "unrelated:2")
    assert (said.code, said.out) == (3, "")
    assert "no space left" in said.err
    assert "TMPDIR" in said.err
    assert kvlab_says("twin", "unrelated:2", "--out", tmp_path / "t.kvrec").code == 0


def test_temporary_folders_of_killed_programs_are_swept_and_no_others(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, lock = temporary._made()
    (killed / "run.kvrec").mkdir()
    os.close(lock)
    living, lock = temporary._made()
    (tmp_path / "kvlab-run-notours1").mkdir()
    (tmp_path / "kvlab-run-linked01").symlink_to(living)
    temporary.sweep.cache_clear()
    assert kvlab_says("faults").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {living.name, "kvlab-run-notours1", "kvlab-run-linked01"}
    os.close(lock)


@pytest.mark.parametrize(
    "words", [("twin", "unrelated:2"), ("pack", "x.kvrec"), ("report", "x.kvrec"), ("import", "x.log"), ("probe",), ("demo",)], ids=" ".join
)
@pytest.mark.parametrize("empty", ["", " ", "-"])
def test_a_name_for_out_that_names_nothing_is_wrong_use(kvlab_says: Kvlab, words: tuple[str, ...], empty: str) -> None:
    said = kvlab_says(*words, "--out", empty)
    assert said.code == 2
    assert "no name for --out" in said.err
