"""A server's log that grows beside a probe: what it tells of matches and evictions stands in the rows of the probe's own requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.probe import Probe
from kvlab.probe.rows import request_rows
from tests.probe.recorded_server import JumpingClock, World

LINES = """\
time=2026-09-20T10:00:{at:02}.000Z level=INFO source=prefix_cache.go:100 msg="cache {word}" total={total} matched={matched} cached={cached} left={left}
time=2026-09-20T10:00:{at:02}.200Z level=INFO source=pipeline.go:70 msg="peak memory" size="{peak}"
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text('time=2026-09-20T09:00:00.000Z level=INFO source=x.go:1 msg="cache miss" total=9 matched=0 cached=0 left=9\n')
    return path


def writes(world: World, log: Path, rows: list[tuple[str, int, int, int, str]]) -> None:
    """A request writes the next row's lines."""
    waiting = iter(enumerate(rows, 1))

    def ask() -> None:
        at, (word, total, matched, cached, peak) = next(waiting)
        with log.open("a") as file:
            file.write(LINES.format(at=at, word=word, total=total, matched=matched, cached=cached, left=total - cached, peak=peak))

    world.on_ask = ask


def test_matches_stand_in_our_rows(probe_of: Callable[..., Probe], world: World, log: Path) -> None:
    writes(world, log, [("miss", 26, 0, 0, "17.00 GiB"), ("hit", 30, 24, 20, "17.25 GiB")])
    recording = probe_of(log=log).run("unrelated:2", progress=False)
    rows = recording.requests
    assert rows.height == 2
    assert rows["label"].to_list() == ["question 1", "question 2"]
    assert rows["matched"].to_list() == [0, 24]
    assert rows["cached"].to_list() == [0, 20]
    assert rows["left"].to_list() == [26, 10]
    assert rows["stop"].to_list() == ["stop_token"] * 2
    peaks = recording.events.filter(kind="observed", gauge="peak")
    assert peaks["observed"].to_list() == [17 * 2**30, 17 * 2**30 + 2**28]
    assert peaks["request"].to_list() == [1, 2]
    assert request_rows(recording)["cached"].to_list() == [0, 20]
    assert kvlab.diagnose(recording).about("why_not_reused").verdict != "not_enough_data"


def test_a_watch_tells_the_requests_of_others(probe_of: Callable[..., Probe], log: Path, clock: JumpingClock) -> None:
    def other() -> None:
        with log.open("a") as file:
            file.write(LINES.format(at=7, word="hit", total=30, matched=24, cached=20, left=10, peak="17.25 GiB"))

    clock.after(3, other)
    recording = probe_of(log=log).watch(6, every=2)
    assert recording.requests.select("request", "tokens", "matched", "cached").rows() == [(1, 30, 24, 20)]


def test_a_log_that_is_not_there(probe_of: Callable[..., Probe], tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="no log"):
        probe_of(log=tmp_path / "none.log")
