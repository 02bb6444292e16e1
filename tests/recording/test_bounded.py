"""Archives of strangers are bounded: parts, rows, values, bytes unpacked, devices and pipes where files should be."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import kvlab
from kvlab.errors import UnreadableInput
from kvlab.packed import AT_WILL
from kvlab.recording import Recording, load
from kvlab.recording.parquet_footer import size_of
from kvlab.views import static
from kvlab.views.report import report_html


@pytest.fixture
def run(tmp_path: Path) -> Path:
    out = tmp_path / "run.kvrec"
    kvlab.twin("smollm2").run("unrelated:2", out=str(out), progress=False)
    return out


def part(number: int, data: bytes) -> str:
    return f"events/part-{number:06d}-{zlib.crc32(data):08x}.parquet"


def parquet(rows: int, **columns: pl.Expr) -> bytes:
    buffer = io.BytesIO()
    made = {"kind": pl.lit("loaded"), "seq": pl.lit(0, pl.Int64)} | columns
    table = pl.select(pl.int_range(rows, dtype=pl.Int64).alias("n")).with_columns(column.alias(name) for name, column in made.items())
    table.drop("n").write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def folder(run: Path, number: int, data: bytes) -> Path:
    (run / part(number, data)).write_bytes(data)
    return run


def archive(run: Path, number: int, data: bytes) -> Path:
    out = run.with_name("run.kvrec.zip")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(run / "manifest.json", "manifest.json")
        made.writestr(part(number, data), data)
    return out


PLACES = (folder, archive)
MANY = parquet(20_000_000)
LONG = parquet(40, text=pl.lit("x" * 4_000_000) + pl.col("n").cast(pl.String))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("data", [MANY, LONG], ids=["rows", "letters"])
def test_a_part_that_unpacks_to_far_more_is_refused(run: Path, place: Callable[[Path, int, bytes], Path], data: bytes) -> None:
    with pytest.raises(UnreadableInput, match="unpacks to") as caught:
        load(place(run, 9, data), strict=False)
    assert part(9, data) in caught.value.what


def test_many_parts_together_are_bounded_too(run: Path) -> None:
    data = parquet(5_000_000)
    for number in range(9, 13):
        folder(run, number, data)
    with pytest.raises(UnreadableInput, match="unpacks to"):
        load(run, strict=False)


@pytest.mark.parametrize("place", PLACES)
def test_a_part_of_any_number_is_not_counted_up_to(run: Path, place: Callable[[Path, int, bytes], Path]) -> None:
    recording = load(place(run, 999_999_999, parquet(1)), strict=False)
    assert len(recording.damaged) < 20
    assert any("999,99" in name for name in recording.damaged)
    with pytest.raises(UnreadableInput, match="is damaged") as caught:
        load(recording.path or run)
    assert len(str(caught.value)) < 1000


def test_an_archive_of_zeros_is_refused_before_it_is_unpacked(run: Path) -> None:
    out = run.with_name("run.kvrec.zip")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.write(run / "manifest.json", "manifest.json")
        made.writestr("events/part-000000-00000000.parquet", bytes(AT_WILL + 1))
    with pytest.raises(UnreadableInput, match="cannot be read as a recording"):
        load(out)


def test_a_manifest_of_any_size_is_not_read(run: Path) -> None:
    (run / "manifest.json").write_bytes(b" " * 3_000_000 + (run / "manifest.json").read_bytes())
    with pytest.raises(UnreadableInput, match="is not a recording"):
        load(run)


def test_devices_and_pipes_are_not_waited_for(run: Path) -> None:
    os.mkfifo(run / "events" / "part-000000-00000000.parquet")
    (run / "events" / "part-000001-00000000.parquet").symlink_to("/dev/zero")
    assert load(run, strict=False).requests.height == 2
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    for path in (run, run / "manifest.json", Path("/dev/zero")):
        with pytest.raises(UnreadableInput):
            load(path)


def test_the_footer_says_what_is_in_the_file() -> None:
    size = size_of(parquet(1000, tokens=pl.col("n")))
    assert size.values == 3000
    assert 8_000 <= size.bytes < 40_000


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(20) + b"PAR1", b"PAR1\xff\xff\xff\xff" + (8).to_bytes(4, "little") + b"PAR1"])
def test_a_footer_that_is_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"footer|parquet"):
        size_of(data)


@pytest.mark.parametrize(("column", "value"), [("end", 2**62), ("start", -(2**63)), ("group", 2**40), ("live", -1), ("group", -5), ("peak", -(2**63))])
def test_numbers_that_no_run_has_are_refused(run: Path, column: str, value: int) -> None:
    recording = load(run)
    recording = Recording(recording.manifest, recording.events.with_columns(pl.when(pl.col(column).is_not_null()).then(pl.lit(value)).alias(column)))
    # written as a stranger may write it
    with pytest.raises(UnreadableInput, match=f"column {column} holds"):
        load(recording.pack(run.with_name("made.kvrec.zip")))


@pytest.mark.parametrize("value", [2**62, 2**63 - 1, -(2**62), -1])
def test_any_other_number_makes_a_report_all_the_same(run: Path, monkeypatch: pytest.MonkeyPatch, value: int) -> None:
    def undrawable(*_: object, **__: object) -> bytes:
        msg = "no such picture"
        raise ValueError(msg)

    monkeypatch.setattr(static, "png", undrawable)
    recording = load(run)
    bounded = {"seq", "request", "group", "start", "end", "index", "live", "live_logical"}
    changed = [name for name, kind in recording.events.schema.items() if kind == pl.Int64 and name not in bounded]
    table = recording.events.with_columns(pl.when(pl.col(name).is_not_null()).then(pl.lit(value)).alias(name) for name in changed)
    recording = Recording(recording.manifest, table)
    again = load(recording.pack(run.with_name("made.kvrec.zip")))
    assert report_html(again, kvlab.diagnose(again)).startswith("<!")


def patched_footer(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    footer = change(data[-8 - length : -8])
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def whole(number: int) -> bytes:
    """A whole number as a footer has it: zigzag, seven bits a byte."""
    number, made = 2 * number, b""
    while number > 127:
        made, number = made + bytes([number & 127 | 128]), number >> 7
    return made + bytes([number])


@pytest.mark.parametrize("place", PLACES)
def test_a_footer_that_claims_less_than_the_pages_hold(run: Path, place: Callable[[Path, int, bytes], Path]) -> None:
    claimed = size_of(LONG).bytes
    lying = patched_footer(LONG, lambda footer: footer.replace(whole(claimed), b"\x82" + b"\x80" * (len(whole(claimed)) - 2) + b"\x00"))
    assert lying != LONG
    with pytest.raises(UnreadableInput, match="unpacks to"):
        load(place(run, 9, lying), strict=False)


@pytest.mark.parametrize(
    "data",
    [b"XXXX" + MANY[4:], patched_footer(MANY, lambda _: b"\x16" + b"\xff" * 3_000_000), patched_footer(MANY, lambda footer: footer[:40])],
    ids=["another beginning", "a number without an end", "half a footer"],
)
def test_of_a_part_whose_size_is_not_known_nothing_is_read(run: Path, data: bytes) -> None:
    recording = load(folder(run, 2, data), strict=False)
    assert part(2, data) in recording.damaged
    assert recording.events.filter(kind="loaded").height == 1


def test_other_files_do_not_raise_the_bounds(run: Path) -> None:
    for name in ("notes.txt", "part-000003-00000000.parquet"):
        with (run / "events" / name).open("wb") as file:
            file.truncate(10**11)
    with pytest.raises(UnreadableInput, match="unpacks to"):
        load(folder(run, 9, LONG), strict=False)
    out = run.with_name("large.kvrec.zip")
    with out.open("wb") as file:
        file.truncate(10**11)
    with pytest.raises(UnreadableInput, match="cannot be read as a recording"):
        load(out)


@pytest.mark.parametrize("digits", [5_000, 13])
def test_a_part_number_of_any_length(run: Path, digits: int) -> None:
    out = archive(run, 0, parquet(1))
    with zipfile.ZipFile(out, "a") as made:
        made.writestr(f"events/part-{'9' * digits}-00000000.parquet", b"")
    assert load(out, strict=False).damaged


def test_parts_that_changed_places_or_are_there_twice_are_damage(tmp_path: Path) -> None:
    out = tmp_path / "run.kvrec"
    kvlab.twin("smollm2").run("unrelated:5", out=str(out), progress=False)
    parts = sorted((out / "events").iterdir())
    numbers = [path.name.split("-")[1] for path in parts]
    assert len(parts) > 2
    twice = out / "events" / parts[1].name.replace(numbers[1], f"{len(parts):06d}")
    twice.write_bytes(parts[1].read_bytes())
    assert load(out, strict=False).damaged == (f"events/{twice.name}",)
    twice.unlink()
    parts[0].rename(out / "events" / parts[0].name.replace(numbers[0], "999999"))
    parts[1].rename(out / "events" / parts[1].name.replace(numbers[1], numbers[0]))
    (out / "events" / parts[0].name.replace(numbers[0], "999999")).rename(out / "events" / parts[0].name.replace(numbers[0], numbers[1]))
    assert load(out, strict=False).damaged


def test_an_archive_whose_part_is_said_to_go_on_beyond_its_end(run: Path) -> None:
    out = load(run).pack(run.with_name("run.kvrec.zip"))
    data = bytearray(out.read_bytes())
    # both sizes in the directory's entry of the first file, which is stored as it is
    entry, size = data.find(b"PK\x01\x02"), 2 * len(data)
    data[entry + 20 : entry + 28] = 2 * size.to_bytes(4, "little")
    out.write_bytes(data)
    with pytest.raises(UnreadableInput, match="is damaged"):
        load(out)
