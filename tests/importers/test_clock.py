"""A clock that goes back is said; lines a little out of order are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.importers import import_file
from tests.importers.read import rows

RECORD = 'time={} level=INFO source=prefix_cache.go:125 msg="cache miss" total=7 matched=0 cached=0 left=7\n'


def _warnings(folder: Path, moments: list[str]) -> list[str]:
    path = folder / "server.log"
    path.write_text("".join(RECORD.format(moment) for moment in moments))
    return [message for (message,) in rows(import_file(path).recording, "warned", "message")]


def test_a_clock_that_goes_back(tmp_path: Path) -> None:
    moments = ["2026-08-21T10:00:00.000Z", "2026-08-21T10:05:00.000Z", "2026-08-21T09:05:00.000Z", "2026-08-21T09:06:00.000Z"]
    assert _warnings(tmp_path, moments) == ["the clock goes back by 3,600 s: seconds that span this step mean nothing"]


@pytest.mark.parametrize("last", ["2026-08-21T10:00:04.200Z", "2026-08-21T12:00:04.200+02:00"])
def test_lines_a_little_out_of_order(tmp_path: Path, last: str) -> None:
    assert _warnings(tmp_path, ["2026-08-21T10:00:00.000Z", "2026-08-21T10:00:05.100Z", last]) == []
