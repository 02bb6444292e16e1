"""E2 on real weights: an unload frees all that the model held, a reload begins where the first load did, and the twin agrees."""

from __future__ import annotations

import mlx.core as mx
import polars as pl
import pytest

import kvlab
from kvlab.errors import BadValue, NotAvailable
from kvlab.events import BytesRead, Freed
from kvlab.lab.lab import Lab
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.units import GIB, KIB, MIB
from kvlab.workloads import Request, Workload

UNLOAD = Request(label="unload", action="unload", max_new=0)


@pytest.fixture(scope="module")
def recording() -> kvlab.Recording:
    # without the allocator's pool, out of which a buffer is larger than what is put into it
    earlier = mx.set_cache_limit(0)
    try:
        return kvlab.open("tiny-hybrid").run("E2", check=True, progress=False)
    finally:
        mx.set_cache_limit(earlier)


def readings(recording: kvlab.Recording, *phases: str) -> pl.DataFrame:
    return recording.rows(BytesRead).filter(pl.col("phase").is_in(phases) & (pl.col("source") == "lab"))


def test_an_unload_frees_every_byte_that_the_model_held(recording: kvlab.Recording) -> None:
    loads, unloads = readings(recording, "load"), readings(recording, "unload")
    assert unloads.height == 3
    before = loads.item(0, "active") - loads.item(0, "weights")
    assert unloads["active"].to_list() == [before] * 3
    assert unloads.select(pl.sum_horizontal("weights", "live", "counted", "pool")).to_series().to_list() == [0] * 3
    freed = recording.rows(Freed).filter(pl.col("owner") == "weights")
    assert freed["retained"].to_list() == loads["weights"].to_list()[:3]


def test_a_reload_begins_where_the_first_load_did(recording: kvlab.Recording) -> None:
    loads = readings(recording, "load")
    assert loads.height == 4
    for column in ("weights", "live", "counted", "active", "unattributed"):
        assert loads[column].n_unique() == 1, column
    after = recording.requests.filter(pl.col("request").is_in([1, 4, 7, 10]))
    assert after["matched"].to_list() == [0] * 4


def test_the_twin_of_the_same_requests_holds_the_same_bytes(recording: kvlab.Recording) -> None:
    closed = recording.rows(BytesRead).filter(pl.col("phase") == "close")
    real, twin = (closed.filter(pl.col("source") == source).sort("seq") for source in ("lab", "twin"))
    assert real.height == 10
    for column in ("weights", "counted", "nodes"):
        assert real[column].to_list() == twin[column].to_list(), column


def test_it_answers_what_an_unload_gives_back_as_the_large_twin_does(recording: kvlab.Recording) -> None:
    small = kvlab.diagnose(recording).about("what_will_unload_give_back")
    large = kvlab.diagnose(kvlab.twin("qwen3.8-27b").run("E2", progress=False)).about("what_will_unload_give_back")
    assert small.verdict == large.verdict == "all_but_process_base"
    for finding, held in ((small, 3.5 * MIB), (large, 17 * GIB)):
        assert finding.numbers["unloads"] == 3
        assert finding.numbers["held_after_bytes"] < KIB
        assert finding.numbers["give_back_bytes"] > held
        assert finding.numbers["last_load_bytes"] == pytest.approx(finding.numbers["first_load_bytes"], rel=0.02)


def test_a_run_that_ends_unloaded_is_followed_by_another() -> None:
    lab = kvlab.open("random-conv")
    work = Workload("one and away", (Request(prompt="Why?", max_new=2), UNLOAD))
    first, second = lab.run(work, progress=False), lab.run(work, progress=False)
    phases, counted = ("load", "unload"), [0, 0]
    for recording in (first, second):
        ends = readings(recording, *phases)
        assert ends["phase"].to_list() == list(phases)
        assert ends["counted"].to_list() == counted
    assert readings(first, "unload")["active"].to_list() == readings(second, "unload")["active"].to_list()


def test_a_net_made_in_this_process_is_not_unloaded() -> None:
    plain = random_llama()
    lab = Lab(MLXModel("net", plain.net, plain.tokenizer, context=4096), Policy())
    with pytest.raises(NotAvailable, match="cannot be unloaded"):
        lab.run(Workload("away", (UNLOAD,)), progress=False)
    assert lab.run([Request(prompt="Why?", max_new=2)], progress=False).requests.height == 1


def test_an_action_that_nobody_knows() -> None:
    with pytest.raises(BadValue, match="explode"):
        kvlab.twin("smollm2").run(Workload("away", (Request(action="explode", max_new=0),)), progress=False)
