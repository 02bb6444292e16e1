"""Writing destroys nothing that kvlab did not make: files, links and what they lead to, devices, pipes, folders."""

from __future__ import annotations

import os
import socket
import stat
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import kvlab
from kvlab.errors import KvlabError, UnreadableInput
from kvlab.output_file import FileKind, replacing
from kvlab.recording import Recording
from kvlab.studies.exporters import export
from kvlab.views import static
from kvlab.views.report import write_report
from tests.cli.conftest import Kvlab
from tests.tools.conformance import compared as table

MINE = b"mine, and not to be lost\n"
COMMANDS: dict[str, tuple[str, ...]] = {
    "pack": ("pack", "{kept}"),
    "report": ("report", "{kept}"),
    "markdown": ("report", "{kept}", "--markdown"),
    "trace": ("export", "{kept}", "--as", "chrome-trace"),
}
MAKE_ANEW = [*COMMANDS]
RECORDS: dict[str, tuple[str, ...]] = {"twin": ("twin", "unrelated:2"), "import": ("import", "{log}"), "probe": ("probe", "--url", "http://127.0.0.1:9")}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "kept.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(path), progress=False)
    return path


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out: they take seconds, and what is in a report does not matter here."""
    monkeypatch.setattr(static, "png", lambda *_, **__: b"")


def words(command: tuple[str, ...], kept: Path, out: Path) -> list[str]:
    log = Path(__file__).parents[1] / "fixtures" / "samples" / "mlxrunner.log"
    return [*(word.format(kept=kept, log=log) for word in command), "--out", str(out)]


def a_file(out: Path) -> None:
    out.write_bytes(MINE)


def a_link(out: Path) -> None:
    out.with_name("mine").write_bytes(MINE)
    out.symlink_to("mine")


def an_archive(out: Path) -> None:
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("manifest.json", '{"name": "an extension"}')
        made.writestr("mine", MINE)


def an_empty_file(out: Path) -> None:
    out.touch()


def a_folder(out: Path) -> None:
    out.mkdir()
    (out / "mine").write_bytes(MINE)


def a_socket(out: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(out))


TARGETS = (a_file, a_link, an_archive, an_empty_file, a_folder, a_socket)


def standing(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every name in a folder with its type, its inode and its bytes."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_ino, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")
    }


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
@pytest.mark.parametrize("command", [*COMMANDS, *RECORDS])
def test_what_is_not_ours_is_refused(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str, target: Callable[[Path], None]) -> None:
    out = tmp_path / "out"
    target(out)
    before = standing(tmp_path)
    said = kvlab_says(*words({**COMMANDS, **RECORDS}[command], kept, out))
    assert said.code in {2, 3}
    assert said.err.startswith("kvlab: ")
    assert standing(tmp_path) == before


def test_csv_tables_are_written_all_or_none(kvlab_says: Kvlab, kept: Path, tmp_path: Path) -> None:
    (tmp_path / "spans.csv").write_bytes(MINE)
    before = standing(tmp_path)
    assert kvlab_says("export", str(kept), "--as", "csv", "-o", str(tmp_path)).code == 2
    assert standing(tmp_path) == before
    assert kvlab_says("export", str(kept), "--as", "csv", "-o", str(tmp_path), "--force").code == 0
    assert kvlab_says("export", str(kept), "--as", "csv", "-o", str(tmp_path)).code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_force_replaces_a_file_and_never_a_folder(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    a_file(out)
    assert kvlab_says(*words(COMMANDS[command], kept, out), "--force").code == 0
    assert out.read_bytes() != MINE
    out.unlink()
    a_folder(out)
    assert kvlab_says(*words(COMMANDS[command], kept, out), "--force").code == 3
    assert (out / "mine").read_bytes() == MINE


@pytest.mark.parametrize("command", MAKE_ANEW)
def test_what_is_ours_is_made_anew_also_behind_a_link(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    out.touch(mode=0o640)
    out.unlink()
    assert kvlab_says(*words(COMMANDS[command], kept, out)).code == 0
    out.chmod(0o640)
    first = out.read_bytes()
    link.symlink_to("out")
    for place in (out, link):
        assert kvlab_says(*words(COMMANDS[command], kept, place)).code == 0
    assert out.read_bytes() == first
    assert link.is_symlink()
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_is_written_through(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str) -> None:
    out, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(out)
    reader = threading.Thread(target=lambda: read.append(out.read_bytes()))
    reader.start()
    assert kvlab_says(*words(COMMANDS[command], kept, out)).code == 0
    reader.join()
    assert len(read[0]) > 100
    assert stat.S_ISFIFO(out.stat().st_mode)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_stays_one(kvlab_says: Kvlab, kept: Path, command: str) -> None:
    assert kvlab_says(*words(COMMANDS[command], kept, Path("/dev/null"))).code == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_device_says_so(kvlab_says: Kvlab, kept: Path, command: str) -> None:
    said = kvlab_says(*words(COMMANDS[command], kept, Path("/dev/full")))
    assert said.code == 3
    assert "no space left" in said.err


def test_an_earlier_file_is_whole_when_the_disk_is_full(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers: dict[str, Callable[[Recording, Path], object]] = {
        "report.html": write_report,
        "run.kvrec.zip": lambda recording, out: recording.pack(out),
        "run.trace.json": lambda recording, out: export(recording, "chrome-trace", out),
        "tables": lambda recording, out: export(recording, "csv", out),
        "conformance.json": lambda _, out: table.write(table.of(()), out),
    }
    recording = kvlab.load(kept)
    for name, write in writers.items():
        write(recording, tmp_path / name)
    before = standing(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for name, write in writers.items():
        with pytest.raises(UnreadableInput, match="cannot be written"):
            write(recording, tmp_path / name)
    assert standing(tmp_path) == before


def test_a_file_that_came_meanwhile_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def write() -> None:
        with replacing(out, FileKind("a test", lambda _: False)) as file:
            file.write(b"ours")
            out.write_bytes(MINE)

    with pytest.raises(KvlabError, match="there already"):
        write()
    assert standing(tmp_path).keys() == {"out"}
    assert out.read_bytes() == MINE
