from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from kvlab.units import MIB
from kvlab.views import tables

if TYPE_CHECKING:
    from kvlab.recording import Recording


def test_readings_are_the_observed_ones_in_bytes(pair: Recording) -> None:
    read = tables.readings(pair)
    assert read.get_column("phase").to_list() == ["load", "attach", "close", "close"]
    assert read.get_column("request").to_list() == [0, 1, 1, 2]
    assert read.get_column("snapshots").to_list() == [0, 0, 10 * MIB, 10 * MIB]
    assert read.get_column("unattributed").to_list() == [0, 0, 0, MIB]
    assert read.get_column("weights").to_list() == [513 * MIB] * 4


def test_a_request_owns_the_unit_around_its_number(pair: Recording) -> None:
    assert tables.readings(pair).get_column("x").to_list() == [-0.5, 0.5, 1.0, 1.5]


def test_a_prediction_stands_at_the_end_of_its_request(pair: Recording) -> None:
    assert tables.readings(pair).get_column("predicted").to_list() == [None, None, 10 * MIB, None]


def test_many_readings_are_thinned_to_one_a_request_then_to_every_nth(fifteen: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "READINGS", 20)
    read = tables.readings(fifteen)
    assert read.get_column("request").to_list() == list(range(16))
    monkeypatch.setattr(tables, "READINGS", 4)
    assert tables.readings(fifteen).get_column("request").to_list() == [3, 7, 11, 15]


def test_moments_are_readings_and_the_last_one_stays(fifteen: Recording) -> None:
    every = tables.moments(fifteen)
    assert every.height == 1 + 15 * 3
    fewer = tables.moments(fifteen, most=20)
    assert fewer.get_column("phase").unique().to_list() != []
    assert fewer.height == 16
    assert tables.moments(fifteen, most=5).get_column("request").to_list() == [3, 7, 11, 15]
    assert every.item(-1, "seq") == fewer.item(-1, "seq")


def test_nothing_was_recorded(empty: Recording) -> None:
    assert tables.readings(empty).height == 0
    assert tables.moments(empty).height == 0


def test_last_bytes_skips_what_was_not_read() -> None:
    table = pl.DataFrame({"pool": [1, 2, None], "peak": [None, None, None]})
    assert tables.last_bytes(table, "pool") == 2
    assert tables.last_bytes(table, "peak") == 0
