"""Packed logs, logs that are piped in, and logs as systemd's journal prints them: the same recording as of the plain file; broken packed files are refused."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from kvlab import packed
from kvlab.errors import UnreadableInput
from kvlab.importers import Imported, import_file
from tests.importers.held import most_held
from tests.importers.read import FIXTURES
from tests.importers.synthetic_log import write_log

LOG = FIXTURES / "logs" / "synthetic_v0.33.0_trace_full_request.log"
TABLE = FIXTURES / "samples" / "request_size_simple.csv"


def _same(one: Imported, other: Imported) -> None:
    assert one.kind == other.kind
    assert one.summary.kinds == other.summary.kinds
    assert_frame_equal(one.recording.events, other.recording.events)


def _pipe(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("path", [LOG, TABLE], ids=lambda path: path.suffix)
def test_a_packed_file_is_read_as_the_plain_one(tmp_path: Path, path: Path) -> None:
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    _same(import_file(packed), import_file(path))
    # as rotated logs are joined: several packed pieces one after another, under any name
    data = path.read_bytes()
    joined = tmp_path / "joined"
    joined.write_bytes(gzip.compress(data[:700]) + gzip.compress(data[700:]))
    _same(import_file(joined, out=tmp_path / "r.kvrec"), import_file(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
@pytest.mark.parametrize("size", [1_000, 1_300_000])
def test_standard_input_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, pack: Callable[[bytes], bytes]) -> None:
    log = tmp_path / "server.log"
    write_log(log, size, "info")
    data = log.read_bytes()
    _pipe(monkeypatch, pack(data))
    imported = import_file("-", out=tmp_path / "r.kvrec")
    assert imported.recording.manifest.origin["file"] == "standard input"
    _same(imported, import_file(log))


def test_packed_input_that_hardly_shrinks_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\n".join([*LOG.read_bytes().splitlines(), *(b"%064x" % (pow(3, place, 2**255 - 19)) for place in range(9_000))])
    _pipe(monkeypatch, gzip.compress(data))
    assert import_file("-").kind == "ollama-log"


def test_nothing_piped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(UnreadableInput, match="nothing is piped"):
        import_file("-")
    _pipe(monkeypatch, b"")
    with pytest.raises(UnreadableInput, match="'standard input' is empty"):
        import_file("-")


MOMENTS = {
    "short": "Sep 20 14:00:01",
    "short, one figure": "Sep  2 14:00:01",
    "short-precise": "Sep 20 14:00:01.123456",
    "short-iso": "2026-09-20T14:00:01+0200",
    "short-iso-precise": "2026-09-20T14:00:01.123456+02:00",
    "short-full": "Sun 2026-09-20 14:00:01 CEST",
    "short-unix": "1789905601.123456",
    "short-monotonic": "[  123.456789]",
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_a_journal_is_read_as_the_log_in_it(tmp_path: Path, moment: str) -> None:
    lines = LOG.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "journal.txt"
    around = [f"{moment} lab-host systemd[1]: Started ollama.service - Ollama Service.", "-- Boot 2f0c9a --"]
    path.write_text("\n".join([around[1], around[0], *(f"{moment} lab-host ollama[812]: {line}" for line in lines)]) + "\n", encoding="utf-8")
    journal, plain = import_file(path), import_file(LOG)
    assert journal.summary.of("not_understood") == plain.summary.of("not_understood")
    assert journal.summary.of("read") == plain.summary.of("read")
    assert journal.summary.of("known")["line of the journal or of systemd"] == 2
    assert "lab-host" not in str(journal.summary)
    for name in ("requests", "nodes", "spans"):
        assert_frame_equal(getattr(journal.recording, name), getattr(plain.recording, name))


def test_a_gzip_file_that_is_cut_or_changed_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(LOG.read_bytes())
    path = tmp_path / "server.log.gz"
    for data in (whole[: len(whole) // 2], whole[:-1], whole[:20] + b"\0\0\0" + whole[23:], b"\x1f\x8b", b"\x1f\x8bnot a packed file at all"):
        path.write_bytes(data)
        with pytest.raises(UnreadableInput, match="cannot be unpacked"):
            import_file(path)


def test_all_that_is_left_can_be_read_at_once_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(b"x" * 5_000_000)
    assert packed.Counted(data[:2], io.BytesIO(data[2:])).read() == data
    with packed.unpacked(packed.Counted(data[:2], io.BytesIO(data[2:])), "x.gz") as file:
        assert file.read() == b"x" * 5_000_000
    monkeypatch.setattr(packed, "AT_WILL", 1 << 20)
    with packed.unpacked(packed.Counted(data[:2], io.BytesIO(data[2:])), "x.gz") as file, pytest.raises(UnreadableInput, match="unpacks to more than"):
        file.read()


def test_a_bomb_is_refused_and_takes_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "server.log.gz"
    with gzip.open(path, "wb") as file:
        file.write(LOG.read_bytes())
        for _ in range(96):
            file.write(b"\n" * 50_000 + b" " * 950_000)
    monkeypatch.setattr(packed, "AT_WILL", 1 << 24)
    assert path.stat().st_size * packed.MOST_RATIO < 90_000_000

    def refused() -> None:
        with pytest.raises(UnreadableInput, match="unpacks to more than"):
            import_file(path)

    # what is unpacked before it is refused is over 16 MiB, a block 1 MiB
    assert most_held(refused) < 12_000_000
