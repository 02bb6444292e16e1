"""Tables of events written at once, and a recording that is finished without being read back."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kvlab.events import Observed, Warned
from kvlab.recording import Recorder, Recording, load, readings
from tests.recording.streams import manifest


def test_tables_and_events_keep_their_order(tmp_path: Path) -> None:
    recorder = Recorder(manifest(), out=tmp_path / "run.kvrec")
    recorder.write(Warned(seq=0, message="first"))
    recorder.write_table(pl.DataFrame({"kind": ["warned", "warned"], "seq": [1, 2], "message": ["second", "third"]}))
    recorder.write(Warned(seq=3, message="fourth"))
    recorder.finish()
    recorder.finish()
    read = load(tmp_path / "run.kvrec")
    assert read.complete
    assert read.events["message"].to_list() == ["first", "second", "third", "fourth"]
    assert recorder.close().events.equals(read.events)


def test_observed_figures_are_a_table() -> None:
    events = [
        Warned(seq=0, message="none of them"),
        Observed(seq=1, request=2, gauge="size", label="a", observed=18 * 10**9, unit="GB", step=10**9, at="10:00"),
        Observed(seq=2, gauge="pressure", words="yellow"),
        Observed(seq=3, gauge="decode_tps", number=58.7, unit="tok/s", pid=7),
    ]
    table = Recording.of(manifest(), events).observed
    assert table.schema == pl.Schema(readings.OBSERVED)
    assert table.select("request", "gauge", "label", "value", "number", "words", "unit", "step", "pid", "at").rows() == [
        (2, "size", "a", 18 * 10**9, None, None, "GB", 10**9, None, "10:00"),
        (0, "pressure", "", None, None, "yellow", "", None, None, ""),
        (0, "decode_tps", "", None, 58.7, None, "tok/s", None, 7, ""),
    ]
