"""Random command lines, random things at the places that they name, random signals at random moments: every file that was there stays byte for byte.

A command ends with a documented code and prints no traceback. What kvlab made itself may be replaced by a command that has ended well.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

import kvlab
from kvlab.cli import signals
from kvlab.cli.main import parser
from kvlab.errors import KvlabError
from kvlab.recording import load
from kvlab.views import static
from kvlab.views.report import write_report
from tests.cli.conftest import Kvlab, Said
from tests.house.tree import ROOT

FEW, MANY = 40, 2000
KILLED_ONE_IN = 20
"""Of many runs, one in so many is another process that is killed."""

MINE = b"mine, and not to be lost\n"
CODES = {0, 1, 2, 3, 129, 130, 141, 143}
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

WORDS: dict[str, tuple[str, ...]] = {
    "twin": ("unrelated:3", "chat:2", "repeat:2", "E2", "unrelated:0", "unrelated:-1", "nobody", "ladder:8..32"),
    "check": ("repeat:2", "unrelated:2"),
    "diagnose": (),
    "import": (),
    "report": (),
    "export": (),
    "pack": (),
    "compare": (),
    "faults": ("F-14", "F-01", "F-99"),
}
"""The commands that are tried, with words for their places; those that open a model, a server or a browser take seconds each."""

ODD = ("", " ", "-1", "0", "1e30", "nan", "9" * 30, "x" * 300, "\x1b[31m", "\udcff", "\u202ea", "8GiB", "1MiB", "main", "0.32.5", "1/4", "a=b", "csv")
WAYS = ("csv", "chrome-trace")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What kvlab made: a recording, the same packed, and its report."""
    folder = tmp_path_factory.mktemp("ours")
    recording = kvlab.twin("smollm2").run("unrelated:3", out=str(folder / "good.kvrec"), progress=False)
    recording.pack(folder / "good.kvrec.zip")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(static, "png", lambda *_, **__: b"")
        write_report(recording, folder / "report.html")
    return folder


@pytest.fixture(autouse=True)
def in_the_foreground(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Answer signals as usual, draw no pictures."""
    monkeypatch.setattr(static, "png", lambda *_, **__: b"")
    before = {number: signal.signal(number, usual) for number, usual in signals.USUAL.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def furnish(place: Path, ours: Path) -> None:
    """Put something of every kind into an empty folder."""
    shutil.copytree(ours, place, dirs_exist_ok=True)
    (place / "mine").write_bytes(MINE)
    (place / "empty").touch()
    (place / "mine.kvrec").write_bytes(MINE)
    (place / "link.html").symlink_to("mine")
    (place / "folder.kvrec").mkdir()
    (place / "folder.kvrec" / "mine").write_bytes(MINE)
    (place / "folder.kvrec" / "manifest.json").write_text('{"name": "an extension"}')
    (place / "tables").mkdir()
    (place / "tables" / "requests.csv").write_bytes(MINE)
    (place / "requests.csv").write_bytes(b"request,size\n1,18 GB\n2,19 GB\n3,20 GB\n")
    with zipfile.ZipFile(place / "mine.zip", "w") as made:
        made.writestr("mine", MINE)
    shutil.copy(ROOT / "tests" / "fixtures" / "samples" / "mlxrunner.log", place / "server.log")


PLACES = (
    *("good.kvrec", "good.kvrec.zip", "report.html", "mine", "empty", "mine.kvrec", "link.html", "folder.kvrec", "folder.kvrec/mine", "tables"),
    *(
        "requests.csv",
        "mine.zip",
        "server.log",
        "new.kvrec",
        "new/deep/new.kvrec",
        "new.html",
        "good.kvrec/events",
        "good.kvrec/new.kvrec",
        ".",
        "..",
        "/dev/null",
    ),
)
OURS = ("good.kvrec", "good.kvrec.zip", "report.html")


def line(chance: random.Random) -> list[str]:
    """Return a random command line: words that fit, words that do not, and flags of that command."""
    name = chance.choice([*WORDS])
    command = _commands()[name]
    words = [name]
    for action in command._actions:
        if isinstance(action, argparse._HelpAction) or action.dest == "force":
            continue
        if not action.option_strings:
            words += [_word(name, chance) for _ in range(chance.choice((1, 1, 1, 0, 2) if action.nargs in ("*", "?") else (1, 1, 1, 1, 0)))]
        elif chance.random() < (0.7 if action.dest in ("out", "way") else 0.12):
            flag = chance.choice(action.option_strings)
            words += [flag] if action.nargs == 0 else [flag, _value(action, chance)]
    if chance.random() < 0.05:
        chance.shuffle(words)
    return words


def _commands() -> dict[str, argparse.ArgumentParser]:
    return next(action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction))


def _word(name: str, chance: random.Random) -> str:
    usual = WORDS[name] or PLACES[:14]
    return chance.choice(usual if chance.random() < 0.8 else (*PLACES, *ODD))


def _value(action: argparse.Action, chance: random.Random) -> str:
    if chance.random() < 0.7:
        return chance.choice(PLACES if action.dest == "out" else WAYS if action.dest == "way" else ODD)
    return chance.choice((*PLACES, *ODD))


def standing(folder: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Return every name in a folder with its type and mode, its inode and its bytes or where it leads."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for path in folder.rglob("*"):
        about = path.lstat()
        held = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = (about.st_mode, about.st_ino if path.is_file() else 0, held)
    return found


def lost(before: dict[str, tuple[int, int, bytes | str]], folder: Path, *, ended_well: bool) -> list[str]:
    """Return the names whose file is no longer what it was, but those of kvlab's own when a command has ended well."""
    after = standing(folder)
    gone = [name for name, was in before.items() if after.get(name) != was]
    return [name for name in gone if not (ended_well and name.split("/")[0] in OURS)]


class Sent:
    """Sends a signal at the call of a Python function with a given number: as good as any moment, and the same one every time."""

    def __init__(self, number: int, at: int) -> None:
        self._number, self._left = number, at

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        del frame, event, argument
        self._left -= 1
        # before and after the command a signal is not its own
        if self._left <= 0 and isinstance(signal.getsignal(self._number), signals.Stop):
            sys.setprofile(None)
            os.kill(os.getpid(), self._number)


def in_this_process(says: Kvlab, words: list[str], chance: random.Random) -> Said:
    """Run a command line; every other one meets a signal."""
    if chance.random() < 0.5:
        return says(*words)
    sys.setprofile(Sent(chance.choice(STOPS), int(10 ** chance.uniform(1, 5.5))))
    try:
        return says(*words)
    finally:
        sys.setprofile(None)


def killed(words: list[str], folder: Path, chance: random.Random) -> None:
    """Run a command line in another process and end it as abruptly as can be."""
    process = subprocess.Popen([sys.executable, "-m", "kvlab", *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    try:
        process.wait(chance.uniform(0.5, 4))
    except subprocess.TimeoutExpired:
        process.kill()
    process.wait()


def fuzzed(says: Kvlab, ours: Path, place: Path, times: int, seed: int, *, kills: bool = False) -> Counter[int]:
    chance, codes = random.Random(seed), Counter[int]()
    for number in range(times):
        folder = place / str(number)
        folder.mkdir()
        furnish(folder, ours)
        words = line(chance)
        before = standing(folder)
        os.chdir(folder)
        if kills and number % KILLED_ONE_IN == 0:
            killed([word for word in words if "\0" not in word], folder, chance)
            # what kvlab made may have been replaced before the kill, and is then whole
            assert not lost(before, folder, ended_well=True), f"{number}: {words}"
            assert _is_whole(folder / "good.kvrec"), f"{number}: {words}"
        else:
            said = in_this_process(says, words, chance)
            codes[said.code] += 1
            assert said.code in CODES, f"{number}: {words}"
            assert "Traceback" not in said.err, f"{number}: {words}"
            assert not lost(before, folder, ended_well=said.code in {0, 1, 130, 141, 143, 129}), f"{number}: {words}"
            assert _is_whole(folder / "good.kvrec"), f"{number}: {words}"
        os.chdir(place)
        shutil.rmtree(folder)
    return codes


def _is_whole(path: Path) -> bool:
    """Whether a recording can be read, or is named by who cannot."""
    try:
        return load(path).complete
    except KvlabError as error:
        return "the earlier recording is in" in error.hint


def test_a_command_line_with_anything_leaves_every_file_as_it_was(kvlab_says: Kvlab, ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    codes = fuzzed(kvlab_says, ours, tmp_path, FEW, 18)
    assert len(codes) > 2


@pytest.mark.full
def test_many_command_lines_leave_every_file_as_it_was(kvlab_says: Kvlab, ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    codes = fuzzed(kvlab_says, ours, tmp_path, MANY, 1818, kills=True)
    print(dict(sorted(codes.items())))
    assert len(codes) > 4
