"""Hostile and broken inputs: each is refused with words, or bounded. The fuzz mutates every fixture with a fixed seed."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import polars as pl
import pytest

import kvlab
from kvlab.errors import KvlabError
from kvlab.importers import KINDS, Summary, import_file
from kvlab.importers.figures import read_figure
from kvlab.importers.inputs import Input
from kvlab.importers.read import kind_of, read_into
from kvlab.importers.rows import KeptTables, Rows
from kvlab.importers.trie_dumps import MOST_NODES
from kvlab.recording import Recording
from kvlab.recording.columns import conform
from tests.importers.held import most_held
from tests.importers.read import FIXTURES, requests, rows
from tests.importers.write_ollama_log import ollama_log_lines
from tests.recording.streams import manifest

SEED = 20260921
STAMP = "time=2026-08-21T10:00:00.005Z level=INFO source=prefix_cache.go:125 "


def _log(folder: Path, *records: str) -> Path:
    path = folder / "server.log"
    path.write_text("".join(f"{STAMP}{record}\n" for record in records))
    return path


def test_huge_counts_are_not_taken(tmp_path: Path) -> None:
    big = "9" * 40
    imported = import_file(
        _log(
            tmp_path,
            f'msg="cache hit" total={big} matched={big} cached={big} left=0',
            'msg="cache hit" total=999999999999999999 matched=0 cached=0 left=999999999999999999',
            f'msg="peak memory" size="{big} GiB"',
            'msg="cache miss" total=7 matched=0 cached=0 left=7',
            'msg="peak memory" size="99999999999 TiB"',
        )
    )
    assert requests(imported.recording, "tokens", "peak") == [(999999999999999999, None), (7, None)]
    assert imported.summary.total("not_understood") >= 1


def test_figures_that_are_no_numbers(tmp_path: Path) -> None:
    assert read_figure("NaN GB") is None
    assert read_figure("inf") is None
    assert read_figure("1e999") is None
    assert read_figure("9" * 63) is not None
    assert read_figure("9" * 65) is None
    path = tmp_path / "t.csv"
    path.write_text("request,size gb\n1,NaN\n2,18\nNaN,19\n2e9,3\n99999999999999,4\n")
    imported = import_file(path)
    assert rows(imported.recording, "observed", "request", "observed") == [(1, None), (2, 18 * 10**9)]
    assert imported.summary.of("not_understood") == {"row whose figures do not fit its heading": 3, "row with a figure that is not understood": 1}
    for text in ('{"models":[{"name":"x","size":NaN}]}', '{"models":' + "[" * 100_000):
        path = tmp_path / "ps.json"
        path.write_text(text)
        with pytest.raises(KvlabError):
            import_file(path, "api-ps")


def test_sizes_that_no_recording_holds_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ps.json"
    path.write_text(
        '{"models":[{"name":"x","size":1e400,"context_length":true},{"name":"y","size":99999999999999999999999},{"name":"z","size":-1},{"size":8},'
        '{"name":"w","size":' + "9" * 400 + "}]}"
    )
    rec = import_file(path, "api-ps").recording
    assert rows(rec, "listed", "model", "count", "context") == [("x", 5, None), ("y", 5, None), ("z", 5, None), ("", 5, None), ("w", 5, None)]
    assert rec.observed.select("label", "value").rows() == [("", 8)]


def test_a_dump_without_end_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("w") as file:
        file.write(f'{STAMP}msg="cache trie: [0,0) 0t 0s ago (active)"\n')
        file.writelines(f'{STAMP}msg="  |-- [0,{end}) {end}t 0s ago"\n' for end in range(1, MOST_NODES + 5000))
        file.write(f'{STAMP}msg="prefix cache active_tokens: 1, active_size: 1 B, paged_out: 1 B, trie: nodes=1000000000, snapshots=0"\n')
        file.write(f'{STAMP}msg="cache trie: [0,0) 0t 0s ago (active)"\n')
        file.writelines(f'{STAMP}msg="  |-- [0,{end}) {end}t 0s ago"\n' for end in range(2, MOST_NODES, 2))
    rec = import_file(path).recording
    assert rec.nodes.height == MOST_NODES
    assert [message for (message,) in rows(rec, "warned", "message")] == [
        f"a trie dump lists {MOST_NODES} of {MOST_NODES + 5000} nodes",
        f"a trie dump lists {len(range(2, MOST_NODES, 2)) + 1} of 1000000000 nodes",
    ]


def test_a_dump_as_deep_as_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    deep = 3000
    with path.open("w") as file:
        for times in range(2):
            file.write(f'{STAMP}msg="cache trie: [0,0) 0t 0s ago (active)"\n')
            file.writelines(f'{STAMP}msg="  {"    " * level}`-- [{level},{level + 1}) 1t 0s ago"\n' for level in range(deep + times))
    rec = import_file(path).recording
    assert rec.nodes.height == deep + 2


def test_what_does_not_fit_a_dump_is_told(tmp_path: Path) -> None:
    imported = import_file(
        _log(
            tmp_path,
            'msg="  `-- [0,5) 5t 0s ago"',
            'msg="cache trie: [0,0) 0t 0s ago"',
            'msg="  `-- [3,5) 2t 0s ago"',
            'msg="  `-- [0,5) 4t 0s ago"',
            'msg="          `-- [0,5) 5t 0s ago"',
            'msg="  `-- [0,5) 5t 0s ago"',
        )
    )
    assert imported.summary.of("not_understood") == {"nodes of a trie dump that do not fit": 4}
    assert imported.recording.nodes.select("start", "end").rows() == [(0, 0), (0, 5)]


def test_a_line_without_end_takes_little(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as file:
        file.write(f'{STAMP}msg="cache miss" total=7 matched=0 cached=0 left=7\n'.encode())
        for _ in range(200):
            file.write(b"x" * 1_000_000)
    totals: list[int] = []
    held = most_held(lambda: totals.append(import_file(path).summary.total()))
    assert totals == [2]
    # a line is 200 MB, a block 1 MiB
    assert held < 20_000_000


@pytest.mark.parametrize(
    "line",
    [
        b'msg="' + b"a=" * 30_000,
        b"a=" * 30_000 + b"!",
        b"[GIN] " + b"|" * 60_000,
        b"panic: " + b"(" * 60_000,
        b"\t" + b"(" * 60_000 + b".go",
        b"total=1 " * 8_000,
        b'runner.name=a runner.size="1" ' * 2_000,
        b"time=" + b" " * 60_000,
        b"|" * 60_000,
        b"1 " * 30_000,
        b"Unloaded " + b"x: freed=" * 6_000,
        b"Memory: " * 8_000,
        b" " * 60_000 + b"x",
        b"time=1" + b" " * 280 + b"x",
        b"1" + b"  " * 30_000 + b"2",
        b"a  1K  1K  1K " * 4_000,
        b'"' * 60_000,
        b"\\" * 60_000,
        b'msg="' + b"\\" * 60_000,
        b"Pages " + b"a " * 30_000,
    ],
    ids=lambda line: line[:12].decode(),
)
def test_lines_that_would_make_a_pattern_slow(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"panic: before\n" + line + b"\n" + line + b"\nSwap Used: 1 GB\n" + line)
    for kind in KINDS:
        _only_words(path, kind)


def _only_words(path: Path, kind: str | None) -> None:
    try:
        rec = import_file(path, kind).recording
    except KvlabError:
        return
    assert rec.complete
    _folded(rec)


def _folded(rec: Recording) -> None:
    for name in ("requests", "nodes", "spans", "bytes", "observed"):
        assert isinstance(getattr(rec, name), pl.DataFrame)


def _fixtures() -> list[bytes]:
    """What is kept here, and a log of our own with its own attributes, many requests of a log at INFO, and a journal."""
    ours = kvlab.twin(["rotating", "kv", "recurrent"]).run("branches:4", progress=False)
    own = "\n".join(ollama_log_lines(ours)).encode()
    info = b"\n".join([line for line in own.split(b"\n") if b"level=INFO" in line] * 40)
    journal = b"\n".join(b"Sep 20 14:00:01 host ollama[7]: " + line for line in own.split(b"\n")[:80])
    return [*(path.read_bytes() for path in sorted(FIXTURES.rglob("*")) if path.is_file()), own, info, journal]


def _packed(rng: random.Random, data: bytes) -> bytes:
    """The same packed: whole, cut short, or with some of its bytes changed."""
    packed = bytearray(gzip.compress(data, compresslevel=1))
    match rng.randrange(4):
        case 0:
            del packed[rng.randrange(len(packed)) :]
        case 1:
            for _ in range(rng.randint(1, 4)):
                packed[rng.randrange(len(packed))] = rng.randrange(256)
        case 2:
            packed += rng.choice(PIECES)
        case _:
            pass
    return bytes(packed)


PIECES = [
    b"\n",
    b"\0",
    b"\xff\xfe",
    b'"',
    b"=",
    b"|",
    b"9" * 30,
    b"-",
    b"NaN",
    b"1e400",
    b" GiB",
    b"[0,0)",
    b"(active)",
    b"\\",
    b"\xf0\x9f\x98\x80",
    b"time=",
    b" msg=",
    b"]",
    b"{",
    b"\r",
]


def _mutated(rng: random.Random, sources: list[bytes]) -> bytes:
    data = bytearray(rng.choice(sources))
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(6):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 40)]
            case 2:
                data[at:at] = rng.choice(PIECES)
            case 3:
                other = rng.choice(sources)
                begin = rng.randrange(len(other))
                data[at:at] = other[begin : begin + rng.randint(1, 300)]
            case 4:
                piece = bytes(data[at : at + rng.randint(1, 200)])
                data[at:at] = piece * rng.randint(1, 5)
            case _:
                lines = bytes(data).split(b"\n")
                rng.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def _fuzz(folder: Path, rounds: int, seed: int) -> None:
    """Read mutated fixtures; one in ten through the disk, one in five folded, one in four packed."""
    rng, sources, path = random.Random(seed), _fixtures(), folder / "input.txt"
    made = manifest()
    for place in range(rounds):
        data = _mutated(rng, sources)
        path.write_bytes(_packed(rng, data) if rng.randrange(4) == 0 else data)
        kind = rng.choice([None, None, None, *KINDS])
        if place % 10 == 0:
            _only_words(path, kind)
            continue
        sink, summary = KeptTables(), Summary()
        try:
            file = Input(path)
            read_into(Rows(sink, "fuzz"), summary, file, kind_of(file, kind))
        except KvlabError:
            continue
        if place % 5 == 0:
            rec = Recording(made, conform(pl.concat(sink.tables, how="diagonal")))
            _folded(rec)


@pytest.mark.parametrize("size", ["1e30", "1E+19", "9223372036854775808", "-1e30"])
def test_a_figure_that_no_event_can_hold(tmp_path: Path, size: str) -> None:
    path = tmp_path / "health.json"
    path.write_text(f'{{"recent_evictions": [{{"reason": "r", "session_id": "s", "prefix_len": {size}, "nbytes": {size}, "budget": 3221225472}}]}}')
    assert import_file(path).recording.observed.filter(gauge="cache_entry").height == 0
    assert import_file(path).recording.observed.filter(gauge="prompt_cache_limit")["value"].to_list() == [3221225472]


def test_fuzz(tmp_path: Path) -> None:
    _fuzz(tmp_path, 3_000, SEED)


@pytest.mark.full
def test_fuzz_long(tmp_path: Path) -> None:
    _fuzz(tmp_path, 100_000, SEED + 1)
