"""The clock that writes parts while a run is silent."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Happened

import polars as pl
import pytest

from kvlab.events import Loaded
from kvlab.recording import Recorder, parts
from tests.recording.streams import manifest

PATIENCE_S = 120
"""The limit only ends a test that has failed."""


def test_an_interrupt_that_reaches_the_clock_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, interrupted, written = parts.encode, Happened(), Happened()

    def encoded(number: int, table: pl.DataFrame) -> tuple[str, bytes]:
        # as polars does when Ctrl-C comes while it works, whichever thread it works in
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        written.set()
        return encode(number, table)

    monkeypatch.setattr(parts, "WRITE_EVERY_S", 0.001)
    monkeypatch.setattr(parts, "encode", encoded)
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    recorder.write(Loaded(seq=0, weights=1))
    assert interrupted.wait(PATIENCE_S)
    assert written.wait(PATIENCE_S)
    assert recorder.close().events["weights"].to_list() == [1]
