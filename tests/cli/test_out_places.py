"""`--out` never writes into a recording's folder, whichever command it is given to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue
from tests.cli.conftest import Kvlab

INSIDE = ("new.kvrec", "events/new.kvrec", "deeper/still/new.kvrec")
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "unrelated:2"),
    "twin": ("twin", "unrelated:2"),
    "check": ("check", "unrelated:2"),
    "import": ("import", "{log}"),
    "probe": ("probe", "--url", "http://127.0.0.1:9"),
    "report": ("report", "{kept}"),
    "markdown": ("report", "{kept}", "--markdown"),
    "csv": ("export", "{kept}", "--as", "csv"),
    "trace": ("export", "{kept}", "--as", "chrome-trace"),
    "pack": ("pack", "{kept}"),
    "demo": ("demo",),
}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "kept.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(path), progress=False)
    return path


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", INSIDE)
def test_a_place_inside_a_recording_is_refused_at_once(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str, place: str) -> None:
    log = tmp_path / "server.log"
    log.write_text("")
    before = files(kept)
    said = kvlab_says(*(word.format(kept=kept, log=log) for word in COMMANDS[command]), "--out", str(kept / place))
    assert said.code == 2
    assert "inside the recording 'kept.kvrec'" in said.err
    assert said.out == ""
    assert files(kept) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "forced"])
def test_links_that_lead_round_in_a_circle(kvlab_says: Kvlab, kept: Path, tmp_path: Path, command: str, force: tuple[str, ...]) -> None:
    log, loop = tmp_path / "server.log", tmp_path / "loop"
    log.write_text("")
    loop.symlink_to("loop")
    words = [word.format(kept=kept, log=log) for word in COMMANDS[command]]
    said = kvlab_says(*words, "--out", str(loop), *(force if command in ("report", "markdown", "csv", "trace", "pack") else ()))
    assert said.code in (2, 3)
    assert said.err.startswith("kvlab: ")
    assert "Traceback" not in said.err
    assert loop.is_symlink()


@pytest.mark.parametrize("command", ["csv", "demo"])
def test_a_folder_of_files_is_no_recordings_own(kvlab_says: Kvlab, kept: Path, command: str) -> None:
    before = files(kept)
    said = kvlab_says(*(word.format(kept=kept) for word in COMMANDS[command]), "--out", str(kept))
    assert said.code == 2
    assert "is a recording" in said.err
    assert files(kept) == before


def test_an_earlier_recording_is_still_replaced_and_one_may_stand_beside_it(kvlab_says: Kvlab, kept: Path) -> None:
    for out in (kept, kept.with_name("beside.kvrec"), kept.with_name("folder") / "new.kvrec"):
        assert kvlab_says("twin", "unrelated:3", "--out", str(out)).code == 0
        assert kvlab.load(out).requests.height == 3


@pytest.mark.parametrize(
    "write",
    [
        lambda rec, out: rec.save(out),
        lambda rec, out: rec.pack(out.with_suffix(".zip")),
        lambda _, out: kvlab.twin("smollm2").run("unrelated:2", out=str(out), progress=False),
    ],
)
def test_in_python_too(kept: Path, write: Any) -> None:
    before = files(kept)
    with pytest.raises(BadValue, match="inside the recording"):
        write(kvlab.load(kept), kept / "new.kvrec")
    assert files(kept) == before


def test_a_link_into_a_recording_is_followed(kept: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(kept / "events", target_is_directory=True)
    with pytest.raises(BadValue, match="inside the recording"):
        kvlab.load(kept).save(link / "new.kvrec")
