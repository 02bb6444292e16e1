"""Peak bytes: the level of all owners at every event, transients as plain functions, and the fit of two constants."""

from __future__ import annotations

import polars as pl
import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.events import BytesRead, Evicted
from kvlab.lab.peak_transients import capacity_after, growth, prefill_transient, scores
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.studies.reproduce.peaks import fit, levels
from kvlab.units import GIB
from kvlab.workloads import Request, Workload
from kvlab.workloads.streams import Fresh
from tests.findings.peak_formulas import cold_request, merge_copies

STATE, KV, CONV = 1000, 64, 30
HYBRID = Shape(
    "hybrid",
    (LayerGroup("recurrent", (0, 1), state_bytes=STATE, conv_bytes_per_token=CONV), LayerGroup("kv", (2, 3, 4, 5), bytes_per_token=KV)),
    weights_bytes=7777,
)


def cold(*lengths: int, reply: int = 0) -> Workload:
    fresh = Fresh()
    return Workload("cold", tuple(Request(tokens=fresh.take(tokens), max_new=reply, ignore_stop=True) for tokens in lengths))


def run(workload: Workload, policy: Policy, shape: Shape = HYBRID) -> Recording:
    return kvlab.twin(shape).run(workload, policy=policy, progress=False)


@pytest.mark.parametrize("tokens", [1, 2, 4, 5, 6, 300, 2048, 2049, 2050, 2053, 8192, 8193, 8196, 20000, 131072])
@pytest.mark.parametrize("capture_as", ["compact", "view"])
def test_a_cold_request_by_formula_is_the_twin_s_to_the_byte(tokens: int, capture_as: str) -> None:
    policy = Policy().replace(capture_as=capture_as)
    assert levels(run(cold(tokens), policy))[-1].total == cold_request(HYBRID, policy, tokens)


@pytest.mark.parametrize("tokens", [1, 255, 256, 2044, 2047, 8191, 9000, 65535])
def test_capacity_is_that_of_the_twin_s_buffers(tokens: int) -> None:
    recording = run(cold(tokens + 1), Policy())
    live = recording.events.filter(pl.col("kind") == BytesRead.kind)["live"].max()
    assert live == STATE + KV * capacity_after(tokens, Policy())


def test_levels_are_at_least_every_reading_and_start_with_the_load() -> None:
    recording = run(cold(5000, 9000, 7000, reply=20), Policy(budget_bytes=2 * STATE + 5000 * KV))
    found = {one.request: one.total for one in levels(recording)}
    read = recording.events.filter((pl.col("kind") == BytesRead.kind) & pl.col("source").ne_missing("twin"))
    for row in read.iter_rows(named=True):
        assert found[row["request"]] >= row["weights"] + row["live"] + row["snapshots"] + row["transient"]
    assert found[0] == HYBRID.weights_bytes


def test_what_merges_consume_waits_for_the_sweep_and_is_the_sum_by_formula() -> None:
    grid = 1000
    base = Policy(capture_grid=grid, prefill_chunk=500, budget_bytes=20 * STATE + 10_000 * KV)
    sweep = run(cold(10_000, 10_000, reply=2), base.replace(lifetimes="sweep"))
    scopes = run(cold(10_000, 10_000, reply=2), base)
    merged = sweep.events.filter((pl.col("kind") == Evicted.kind) & (pl.col("request") == 2))
    assert merged["state"].to_list() == ["interior"] * len(merged)
    assert len(merged) >= 2
    first, second = (level for level in levels(sweep) if level.request)
    assert first.waiting == 0
    # each merge consumes what was joined so far, the next edge, and the parent's whole state
    assert second.waiting == merge_copies([grid] * (len(merged) + 1), KV) + len(merged) * STATE
    assert all(level.waiting == 0 for level in levels(scopes))
    assert levels(sweep)[1].total == levels(scopes)[1].total


def test_one_layer_grows_and_attends_at_a_time() -> None:
    kv = HYBRID.groups[1]
    assert growth(kv, 2048) == 2048 * KV // 4
    assert growth(HYBRID.groups[0], 2048) == 0
    assert scores(16, 2048, 131072) == 8 * GIB
    assert prefill_transient(HYBRID, Policy(), 4096) == 4096 * KV // 4
    # a buffer grows by its own step
    assert prefill_transient(Shape("kv", (LayerGroup("kv", (0,), bytes_per_token=KV, growth_step=512),)), Policy(), 200) == 512 * KV
    assert prefill_transient(HYBRID, Policy(), 4096, heads=8) == 8 * 2048 * 4096 * 2


def test_a_fit_finds_constants_that_are_there_and_says_what_is_left() -> None:
    tokens, levels_ = [10, 20, 30, 40], [5.0, 9.0, 2.0, 7.0]
    peaks = [level + 3 + 0.5 * at for level, at in zip(levels_, tokens, strict=True)]
    peaks[3] += 2
    found = fit(levels_, tokens, peaks, 3)
    assert (found.base, found.per_token) == (pytest.approx(3), pytest.approx(0.5))
    assert found.residuals == pytest.approx((0, 0, 0, -2))
    assert found.shares[3] == pytest.approx(-2 / peaks[3])
    assert found.peak(7, 40) == pytest.approx(peaks[3] - 2)


@pytest.mark.parametrize(("levels_", "rows"), [([1.0, 2.0], 1), ([1.0, 2.0], 3), ([1.0], 2)])
def test_a_fit_needs_two_whole_rows(levels_: list[float], rows: int) -> None:
    with pytest.raises(BadValue, match="rows to fit on"):
        fit(levels_, [1, 2], [1.0, 2.0], rows)
