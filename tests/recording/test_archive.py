"""Saving, packing and loading; damaged, foreign and unknown input."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pytest

from kvlab.errors import BadValue, UnreadableInput
from kvlab.events import Event, Loaded
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recorder, Recording, frame, load
from kvlab.recording.manifest import CHECKSUM, _checksum
from kvlab.units import MIB
from tests.recording.streams import manifest, random_events

EVENTS = random_events(5, requests=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete recording of four parts or five."""
    out = tmp_path / "run.kvrec"
    recorder = Recorder(manifest(), out=out, store_text=True)
    for event in EVENTS:
        recorder.write(event)
    recorder.close()
    assert len(_parts(out)) >= 3
    return out


def _parts(folder: Path) -> list[Path]:
    return sorted((folder / "events").glob("part-*.parquet"))


def _fails(path: Path, *words: str) -> None:
    with pytest.raises(UnreadableInput) as caught:
        load(path)
    assert caught.value.exit_code == 3
    assert caught.value.hint
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["copy.kvrec", "copy.kvrec.zip", "copy.zip"])
def test_a_round_trip_keeps_every_event_and_the_manifest(folder: Path, tmp_path: Path, name: str) -> None:
    recording = load(folder)
    path = recording.save(tmp_path / "deep" / name)
    copy = load(path)
    assert path == tmp_path / "deep" / name
    assert copy.events.equals(frame(EVENTS))
    assert copy.manifest == recording.manifest
    assert copy.complete
    assert copy.path == path


def test_saving_joins_small_parts(folder: Path) -> None:
    recording = load(folder)
    recording.save(folder)
    assert [path.name[:12] for path in _parts(folder)] == ["part-000000-"]
    assert load(folder).events.equals(frame(EVENTS))


def test_large_recordings_are_saved_in_several_parts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvlab.recording.archive.ROWS_A_PART", 10)
    out = load(folder).save(tmp_path / "copy.kvrec")
    assert len(_parts(out)) == -(-len(EVENTS) // 10)
    assert load(out).events.equals(frame(EVENTS))


def test_equal_recordings_are_packed_into_equal_bytes(folder: Path, tmp_path: Path) -> None:
    first = load(folder).pack(tmp_path / "a.zip")
    second = load(first).pack(tmp_path / "b.zip")
    stored = Recording(load(folder).manifest, frame(EVENTS)).pack(tmp_path / "c.zip")
    assert first.read_bytes() == second.read_bytes() == stored.read_bytes()
    with zipfile.ZipFile(first) as packed:
        assert [name[:19] for name in packed.namelist()] == ["events/part-000000-", "manifest.json"]
        assert {info.date_time[0] for info in packed.infolist()} == {1980}


def test_a_table_in_pieces_is_packed_into_the_same_bytes(tmp_path: Path) -> None:
    whole = frame([Loaded(seq=seq, t=seq / 7, weights=seq * seq % 977) for seq in range(60_000)])
    pieces = pl.concat([whole[:7], whole[7:40_000], whole[40_000:]], rechunk=False)
    assert pieces.n_chunks() == 3
    made = manifest()
    packed = [Recording(made, table).pack(tmp_path / name).read_bytes() for table, name in ((whole, "a.zip"), (pieces, "b.zip"))]
    assert packed[0] == packed[1]


def test_an_archive_lies_beside_its_folder(folder: Path) -> None:
    assert load(folder).pack() == folder.with_name("run.kvrec.zip")
    with pytest.raises(BadValue, match="onto itself"):
        load(folder.with_name("run.kvrec.zip")).pack()
    with pytest.raises(BadValue, match="onto itself"):
        load(folder).pack(folder)


def test_a_recording_in_a_temporary_folder_needs_a_name_for_its_archive() -> None:
    with pytest.raises(BadValue, match="name"):
        Recorder(manifest()).close().pack()
    with pytest.raises(BadValue, match="name"):
        Recording.of(manifest(), []).pack()


def test_an_archive_made_by_a_file_manager_is_read(folder: Path, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "other"), "zip", root_dir=tmp_path, base_dir=folder.name)
    assert load(packed).events.equals(frame(EVENTS))


def test_what_was_never_stored_is_complete_once_saved(tmp_path: Path) -> None:
    recording = Recording.of(manifest(stored_text=True), EVENTS)
    assert load(recording.save(tmp_path / "run.kvrec")).complete


def test_an_empty_recording_goes_round(tmp_path: Path) -> None:
    recording = Recorder(manifest(), out=tmp_path / "run.kvrec").close()
    assert recording.complete
    for copy in (load(tmp_path / "run.kvrec"), load(recording.pack())):
        assert copy.complete
        assert copy.events.equals(recording.events)


def test_text_in_a_path_and_a_home_folder_are_understood(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert load(f"~/{folder.name}").complete


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("number", [0, -1])
def test_a_part_cut_short_is_named_and_the_rest_can_be_read(folder: Path, share: float, number: int) -> None:
    part = _parts(folder)[number]
    rows = load(folder).events.height
    data = part.read_bytes()
    part.write_bytes(data[: int(len(data) * share)])
    name = f"events/{part.name}"
    _fails(folder, name, "strict=False", "--salvage")
    rest = load(folder, strict=False)
    assert rest.damaged == (name,)
    assert not rest.complete
    assert 0 < rest.events.height < rows
    assert name in repr(rest)
    assert rest.requests.height
    rest.at(int(rest.events.item(-1, "seq")))


def test_what_was_saved_from_a_damaged_recording_is_incomplete_and_whole(folder: Path, tmp_path: Path) -> None:
    _parts(folder)[1].write_bytes(b"")
    rest = load(folder, strict=False)
    copy = load(rest.save(tmp_path / "rest.kvrec"))
    assert copy.events.equals(rest.events)
    assert not copy.complete
    assert copy.damaged == ()


@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_missing_part_is_named(folder: Path, number: int) -> None:
    part = _parts(folder)[number]
    part.unlink()
    name = f"events/{part.name[:12]}*.parquet"
    _fails(folder, name)
    assert load(folder, strict=False).damaged == (name,)


def test_any_damage_is_noticed(folder: Path) -> None:
    rng = random.Random(1)
    part = _parts(folder)[0]
    data = part.read_bytes()
    for _ in range(60):
        damaged = bytearray(data)
        for place in rng.sample(range(len(data)), k=rng.randint(1, 8)):
            damaged[place] ^= rng.randrange(1, 256)
        part.write_bytes(damaged)
        assert load(folder, strict=False).damaged == (f"events/{part.name}",)
    _fails(folder, part.name)


def test_what_a_kill_left_half_written_is_ignored(folder: Path) -> None:
    (folder / "events" / ".part-000099-0badcafe.parquet.tmp").write_bytes(b"half")
    (folder / "events" / "notes.txt").write_text("mine")
    assert load(folder).complete


def test_a_folder_without_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    _fails(folder, "not a recording", "manifest.json")
    with pytest.raises(UnreadableInput):
        load(folder, strict=False)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"schema": 1}', "\udcff"])
def test_a_manifest_that_cannot_be_read(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    _fails(folder, "manifest.json")


def test_a_manifest_with_a_wrong_type(folder: Path) -> None:
    _change_manifest(folder, policy="main")
    _fails(folder, "policy")


@pytest.mark.parametrize("schema", [0, 2, "1", None])
def test_an_unknown_schema_version_says_which_are_read(folder: Path, schema: object) -> None:
    _change_manifest(folder, schema=schema)
    _fails(folder, f"schema version {schema!r}", "reads schema versions 1")


def test_an_unknown_key_of_a_later_kvlab_is_left_out(folder: Path) -> None:
    _change_manifest(folder, colour="blue")
    assert load(folder).complete


def _change_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    data = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(data | {CHECKSUM: _checksum(data)}))


def test_a_place_without_recording(tmp_path: Path) -> None:
    _fails(tmp_path / "none.kvrec", "no recording")
    _fails(Path("/dev/null/none.kvrec"), "no recording")
    _fails(tmp_path, "not a recording")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_an_archive_cut_short(folder: Path, share: float) -> None:
    packed = load(folder).pack()
    data = packed.read_bytes()
    packed.write_bytes(data[: int(len(data) * share)])
    _fails(packed, "run.kvrec.zip", "zip")


def test_a_damaged_part_in_an_archive_is_named(folder: Path) -> None:
    packed = load(folder).pack()
    data = bytearray(packed.read_bytes())
    data[200] ^= 0xFF
    packed.write_bytes(data)
    with zipfile.ZipFile(packed) as archive:
        (name, _) = archive.namelist()
    _fails(packed, name)
    assert load(packed, strict=False).damaged == (name,)


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.writestr("notes.txt", "mine")
    _fails(tmp_path / "x.zip", "not a recording")


def test_saving_to_a_place_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    recording = load(folder)
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "x.kvrec", Path("/dev/null/x.kvrec"), Path("/dev/null/x.zip")):
        with pytest.raises(UnreadableInput):
            recording.save(place)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text("mine")
    with pytest.raises(BadValue):
        recording.save(tmp_path / "site")
    assert (tmp_path / "site" / "page.html").read_text() == "mine"


def test_a_recording_can_be_sent_to_another_process(folder: Path) -> None:
    with Recorder(manifest()) as recorder:
        recorder.write(Loaded(seq=0))
    for recording in (load(folder), recorder.close()):
        copy = pickle.loads(pickle.dumps(recording))  # noqa: S301 - our own bytes
        assert copy.events.equals(recording.events)
        assert copy.manifest == recording.manifest


def test_a_manifest_names_no_host_user_or_path() -> None:
    made = manifest(model="/home/you/models/SmolLM2", origin={"file": "~/models/a.gguf", "sha256": "ab"}, shape={"name": r"C:\you\tiny"})
    assert made.model == "SmolLM2"
    assert made.origin == {"file": "a.gguf", "sha256": "ab"}
    assert made.shape == {"name": "tiny"}
    assert set(made.machine) == {"system", "version", "architecture", "cpus", "ram_bytes", "python"}


@pytest.mark.parametrize("name", ["./models/me/x", "../x", "~/x", "/models/x/", r".\models\x", r"D:\models\x", r"\\server\share\x"])
def test_of_whatever_begins_like_a_path_the_last_part_is_kept(name: str) -> None:
    assert manifest(model=name).model == "x"


@pytest.mark.parametrize("name", ["mlx-community/x", "unrelated:15", "x", ""])
def test_what_is_no_path_is_kept(name: str) -> None:
    assert manifest(model=name).model == name


def test_a_manifest_says_whether_the_run_was_checked_and_an_older_one_was_not() -> None:
    made = manifest(checked=True)
    assert Manifest.from_json(made.to_json(), "mine") == made
    older = made.to_dict()
    del older["checked"]
    assert not Manifest.from_json(json.dumps(older), "mine").checked
    assert not manifest().checked


def test_the_twin_runs_no_mlx() -> None:
    assert manifest(source="twin").mlx is None
    assert manifest(source="twin").mlx_lm is None
    assert manifest(source="lab").mlx


def test_a_recording_says_what_it_is() -> None:
    policy = Policy(budget_bytes=64 * MIB, protect="active_path")
    recording = Recording.of(manifest(policy=policy), EVENTS)
    text = repr(recording)
    choices = "budget_bytes=64.00 MiB (main 8.00 GiB), protect=active_path (main frontier_and_branches)"
    assert f"Recording of tiny (lab), workload random, policy upstream main but {choices}" in text
    assert f"4 requests, {len(EVENTS)} events" in text
    assert "counted" in text
    assert recording.policy == policy


def test_an_unknown_policy_is_said_and_is_no_error() -> None:
    assert "policy not known" in repr(Recording.of(manifest(policy=None), []))
    assert "policy not known (a policy has no field 'colour')" in repr(Recording.of(manifest(policy={"colour": "blue"}), []))


def test_events_of_an_unknown_class_are_not_lost_silently() -> None:
    class Odd(Event):
        kind = "odd"

    with pytest.raises(KeyError):
        frame([Odd()])
