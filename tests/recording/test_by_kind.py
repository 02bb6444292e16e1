"""Events by kind: what a table a kind gives back is what the wide table of the same events has."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import kvlab
from kvlab.events import EVENTS, BytesRead, Event, Matched, NodeBorn, Observed, RequestBegan, RequestClosed, Warned
from kvlab.recording import SCHEMA, frame
from kvlab.recording.by_kind import EventTables

ROOT = Path(kvlab.__file__).parent


def _events() -> list[Event]:
    """Return two events of every kind, with numbers at the edges of what four bytes hold and labels that hold anything."""
    made: list[Event] = []
    for number, cls in enumerate([*EVENTS.values(), *reversed(EVENTS.values())]):
        event = cls(seq=3 * number, t=number / 7, request=max(0, number - 4), source="twin" if number % 3 else "")
        made.append(event)
    made += [
        Observed(seq=1001, gauge="size", label='a "label"\nof two lines', observed=2**31, number=-0.0, step=-(2**31)),
        Observed(seq=1002, gauge="size", label="", observed=2**31 - 1),
        Observed(seq=1003, gauge="ünïcode", label="", observed=-(2**31) - 1, words="", at="12:00"),
        BytesRead(seq=1004, phase="close", active=2**61, weights=-(2**61)),
        Warned(seq=1005, request=2**40, message="m"),
    ]
    return made


@pytest.fixture(scope="module")
def wide() -> pl.DataFrame:
    return frame(_events())


@pytest.fixture(scope="module")
def tables(wide: pl.DataFrame) -> EventTables:
    # in parts of seven rows, as a recording's
    return EventTables(wide.slice(start, 7) for start in range(0, wide.height, 7))


def test_nothing_is_lost(wide: pl.DataFrame, tables: EventTables) -> None:
    assert_frame_equal(tables.wide(), wide)
    assert (tables.count, tables.first, tables.last) == (wide.height, 0, 1005)


@pytest.mark.parametrize("kinds", [(Matched,), (RequestBegan, RequestClosed), (Observed, BytesRead, NodeBorn), ()])
def test_the_rows_of_some_kinds_are_those_of_the_wide_table(wide: pl.DataFrame, tables: EventTables, kinds: tuple[type[Event], ...]) -> None:
    columns = ["label", "seq", "kind", "observed", "request", "source"]
    wanted = wide.filter(pl.col("kind").is_in([kind.kind for kind in kinds or EVENTS.values()]))
    assert_frame_equal(tables.rows(*kinds, columns=columns), wanted.select(columns))
    every = tables.rows(*kinds)
    assert_frame_equal(every, wanted.select(every.columns))
    assert all(column.null_count() == wanted.height for column in wanted.drop(every.columns))


def test_a_kind_without_events_has_its_columns() -> None:
    rows = EventTables([frame([Matched(seq=0)])]).rows(Warned)
    assert rows.schema == pl.Schema({name: SCHEMA[name] for name in SCHEMA if name in rows.columns})
    assert {"kind", "seq", "t", "request", "source", "message"} == set(rows.columns)


def test_events_of_a_kind_that_is_not_known_stay() -> None:
    strange = pl.DataFrame({"kind": ["of_later", None], "seq": [0, 1], "label": ["x", None]}, schema_overrides={"kind": pl.String})
    assert EventTables([strange]).wide().select("kind", "seq", "label").rows() == [("of_later", 0, "x"), (None, 1, None)]


def test_parts_of_the_events_are_those_of_the_wide_table(wide: pl.DataFrame, tables: EventTables) -> None:
    for first, end in ((0, 1), (5, 60), (-(2**62), 2**62), (1003, 1003), (7, 5)):
        assert_frame_equal(tables.between(first, end).wide(), wide.filter(pl.col("seq").is_between(first, end, closed="left")))
    assert_frame_equal(pl.concat([some.wide() for some in tables.slices(10)]), wide)
    assert {some.count for some in tables.slices(10)} <= {10, wide.height % 10}


def test_requests_of_moments_are_those_of_the_wide_table(wide: pl.DataFrame, tables: EventTables) -> None:
    for seq in (-1, 0, 4, 15, 100, 2000):
        past = wide.filter(pl.col("seq") <= seq)
        assert tables.request_at(seq) == (past.item(-1, "request") if past.height else 0)
    for request in (1, 9, 2**40, 12345):
        assert tables.end_of(request) == wide.filter(pl.col("request") == request).get_column("seq").max()
    assert tables.requests.to_list() == sorted(set(wide.get_column("request")) - {0})
    number = pl.when(pl.col("request") > 0).then("request").forward_fill().fill_null(0).alias("after")
    assert_frame_equal(tables.numbered(wide.select("seq")), wide.select("seq", number))


def test_no_fold_reads_the_wide_table() -> None:
    """Only who writes a recording needs every column of every event at once; all others take the kinds and columns that they read."""
    wide = re.compile(r"\b(?:recording|rec|run|fault|first)\.events\b|\.wide\(\)")
    found = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if wide.search(path.read_text(encoding="utf-8"))]
    assert sorted(found) == ["recording/archive.py", "recording/recording.py"]
