"""A flipped bit anywhere in a recording, in its parts, its manifest or its archive, is refused or changes nothing that is read from it."""

from __future__ import annotations

import random
import zipfile
from collections import Counter
from pathlib import Path

import pytest

import kvlab
from kvlab.errors import UnreadableInput
from kvlab.recording import Recorder, Recording, load
from tests.recording.streams import manifest

FEW, MANY = 50, 2000


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A complete and an interrupted run of several parts, each as a folder and as an archive."""
    folder = tmp_path_factory.mktemp("flips")
    whole = kvlab.twin("smollm2").run("unrelated:4", out=str(folder / "whole.kvrec"), progress=False)
    cut = folder / "cut.kvrec"
    recorder = Recorder(manifest(), out=cut)
    for place, start in enumerate(range(0, whole.events.height, 40)):
        recorder.write_table(whole.events.slice(start, 40))
        if place == 6:
            break
    recorder._stop()
    recorder._end_writing()
    archives = [load(path).pack(path.with_suffix(".kvrec.zip")) for path in (folder / "whole.kvrec", cut)]
    split = folder / "split.kvrec.zip"
    _zip(cut, split)
    return [folder / "whole.kvrec", cut, *archives, split]


def _zip(folder: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(folder.rglob("*")):
            made.write(path, path.relative_to(folder).as_posix())


def flip(path: Path, chance: random.Random) -> tuple[Path, bytes]:
    """Flip one bit of one of a recording's files, each byte as likely as any; return the file and what it was."""
    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    file = chance.choices(files, [item.stat().st_size for item in files])[0]
    before = file.read_bytes()
    data = bytearray(before)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    return file, before


def same(a: Recording, b: Recording) -> bool:
    return a.manifest == b.manifest and a.events.equals(b.events) and a.complete == b.complete


def flipped(recordings: list[Path], times: int) -> Counter[str]:
    chance, seen = random.Random(18), Counter[str]()
    whole = {path: load(path) for path in recordings}
    for number in range(times):
        path = recordings[number % len(recordings)]
        file, before = flip(path, chance)
        try:
            assert same(load(path), whole[path]), f"flip {number} of {path.name}"
            seen["unchanged"] += 1
        except UnreadableInput:
            seen["refused"] += 1
        finally:
            file.write_bytes(before)
    assert all(same(load(path), whole[path]) for path in recordings)
    return seen


def test_no_flipped_bit_changes_what_is_read(recordings: list[Path]) -> None:
    assert flipped(recordings, FEW)["refused"] > FEW // 2


@pytest.mark.full
def test_none_of_many_flipped_bits_changes_what_is_read(recordings: list[Path]) -> None:
    assert flipped(recordings, MANY)["refused"] > MANY // 2
