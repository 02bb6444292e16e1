"""The footprint of the process, recorded by real runs and by no twin."""

from __future__ import annotations

import mlx.core as mx
import polars as pl
import psutil
import pytest

import kvlab
from kvlab.lab import Twin
from kvlab.lab.lab import Lab
from kvlab.models import mlx_meter
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import MIB
from kvlab.workloads import Request, Workload

SHORT = Policy(prefill_chunk=8, capture_grid=16)
REQUESTS = 3


def run_of(source: Lab | Twin) -> Recording:
    asked = tuple(Request(tokens=tuple(range(20 * place, 20 * place + 20)), max_new=2) for place in range(REQUESTS))
    return source.run(Workload("lines", asked), progress=False)


@pytest.fixture(scope="module")
def real() -> Recording:
    return run_of(Lab(random_llama(), SHORT))


def test_a_real_run_reads_it_when_its_model_is_loaded_and_when_a_request_closes(real: Recording) -> None:
    read = real.bytes.filter((pl.col("owner") == "process") & (pl.col("kind") == "footprint"))
    assert read.select("request", "phase").rows() == [(0, "load"), *((request, "close") for request in range(1, REQUESTS + 1))]
    machine = psutil.virtual_memory().total + psutil.swap_memory().total
    assert all(0 < value <= machine for value in read["value"])
    assert real.requests["footprint"].to_list() == read["value"].to_list()[1:]


def test_it_is_a_figure_like_that_of_an_import_or_a_probe(real: Recording) -> None:
    told = real.observed.filter(pl.col("gauge") == "footprint")
    assert told["value"].to_list() == real.bytes.filter(pl.col("kind") == "footprint")["value"].to_list()


def test_who_holds_it_tells_the_process_own_bytes_apart(real: Recording) -> None:
    found = next(one for one in kvlab.diagnose(real).findings if one.question == "who_holds_it")
    assert found.numbers["footprint_bytes"] == real.requests["footprint"][-1]
    last = real.requests.row(-1, named=True)
    (outside,) = real.events.filter(pl.col("kind") == "loaded")["outside"]
    assert found.numbers["heap_bytes"] == last["footprint"] - last["active"] - last["pool"] - outside


def test_arrays_of_others_in_the_same_process_are_not_its_heap() -> None:
    others = mx.ones((64, MIB), dtype=mx.uint8)
    mx.eval(others)
    recording = run_of(Lab(random_llama(), SHORT))
    found = next(one for one in kvlab.diagnose(recording).findings if one.question == "who_holds_it")
    last = recording.requests.row(-1, named=True)
    assert found.numbers["heap_bytes"] <= last["footprint"] - last["active"] - last["pool"] - others.nbytes


def test_bytes_are_told_as_the_system_told_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter(range(1000, 2000))
    monkeypatch.setattr(mlx_meter, "own_footprint", lambda: next(told))
    assert run_of(Lab(random_llama(), SHORT)).requests["footprint"].to_list() == [1001, 1002, 1003]


def test_where_the_system_tells_none_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlx_meter, "own_footprint", lambda: None)
    recording = run_of(Lab(random_llama(), SHORT))
    assert not recording.events.get_column("footprint").drop_nulls().len()
    assert not recording.observed.height


def test_a_twin_records_none() -> None:
    recording = run_of(Twin(random_llama().shape, SHORT))
    assert not recording.events.get_column("footprint").drop_nulls().len()
    assert recording.requests["footprint"].to_list() == [None] * REQUESTS
    assert not recording.observed.height
