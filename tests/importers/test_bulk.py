"""Lines that are read at once make the same events and the same counts as lines that are read one by one."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from kvlab.importers import Summary, dump_lines
from kvlab.importers.inputs import Input
from kvlab.importers.kept_events import KeptTables
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.ollama_stretches import Stretch
from kvlab.importers.read import read_into
from kvlab.importers.rows import Rows
from tests.importers.read import FIXTURES
from tests.importers.synthetic_log import MIXES, write_log

SEED = 20261130
PIECES = [b" msg=", b"time=", b"9", b"x", b'"', b"[GIN] ", b"total=0", b"+02:00", b"Z", b"2026", b" ago", b"(active)", b"[", b"\n"]


def _read(log: Path) -> tuple[pl.DataFrame, list[tuple[str, str, int, int, str]]]:
    kept, summary = KeptTables(), Summary()
    read_into(Rows(kept, "ollama-log"), summary, Input(log), "ollama-log")
    kinds = [(kind.name, kind.understood, kind.count, kind.line, kind.example) for kind in summary.kinds.values()]
    return pl.concat(kept.tables, how="diagonal"), kinds


def _both(log: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare; return how many lines were read at once."""
    seen: list[int] = []
    count = OllamaLog._count

    def counted(log_: OllamaLog, counts: dict[str, int], stretch: Stretch) -> None:
        seen.append(len(stretch.codes))
        count(log_, counts, stretch)

    with monkeypatch.context() as watched:
        watched.setattr(OllamaLog, "_count", counted)
        together, counts = _read(log)
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr("kvlab.importers.ollama_log.stretches", lambda _: [])
        one_by_one.setattr(dump_lines.Labels, "read_on", lambda _self, _dump, _lines, place: place)
        apart, counts_apart = _read(log)
    assert together["seq"].to_list() == list(range(together.height))
    assert_frame_equal(together, apart, check_column_order=False, check_exact=True)
    assert sorted(counts) == sorted(counts_apart)
    return sum(seen)


@pytest.mark.parametrize("mix", MIXES)
def test_a_long_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mix: str) -> None:
    log = tmp_path / "server.log"
    # more than one block
    write_log(log, 2_500_000, mix)
    at_once = _both(log, monkeypatch)
    if mix == "info":
        assert at_once > 0.5 * len(log.read_bytes().splitlines())


def test_logs_with_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few letters of a log, or its lines, are changed at random: a line that does not fit sends its stretch the long way, and no other."""
    rng, log = random.Random(SEED), tmp_path / "server.log"
    sources: list[list[bytes]] = []
    for mix in MIXES:
        write_log(log, 200_000, mix)
        sources.append(log.read_bytes().split(b"\n"))
    at_once = 0
    for _ in range(60):
        lines = list(rng.choice(sources))
        for _ in range(rng.randint(1, 12)):
            place = rng.randrange(len(lines))
            line = lines[place]
            match rng.randrange(5):
                case 0:
                    del lines[place]
                case 1:
                    lines.insert(place, rng.choice(lines))
                case 2:
                    at = rng.randrange(len(line) + 1)
                    lines[place] = line[:at] + rng.choice(PIECES) + line[at:]
                case 3:
                    at = rng.randrange(len(line) + 1)
                    lines[place] = line[:at] + line[at + rng.randint(1, 9) :]
                case _:
                    other = rng.randrange(len(lines))
                    lines[place], lines[other] = lines[other], lines[place]
        log.write_bytes(b"\n".join(lines))
        at_once += _both(log, monkeypatch)
    assert at_once > 0


LOGS = sorted(path for path in FIXTURES.rglob("*.log") if b"level=" in path.read_bytes())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_log_that_is_kept_here(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    _both(path, monkeypatch)
