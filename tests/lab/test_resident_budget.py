"""A budget on resident bytes sees what views pin, on real arrays and on span counts, and evicts for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kvlab
from kvlab.lab import Twin
from kvlab.lab.lab import Lab
from kvlab.lab.source import Source
from kvlab.models.mlx_model import MLXModel
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.extremes import largest
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request, Workload
from tests.lab import nets

STATE, CONV, CHUNK = 500, 100, 64
SHAPE = Shape(
    "pins",
    (LayerGroup("recurrent", (0,), state_bytes=STATE, conv_bytes_per_token=CONV), LayerGroup("kv", (1,), bytes_per_token=1)),
    weights_bytes=1000,
)
BUDGET = 20_000
"""Far above what the snapshots of four prompts count, far below the 6,400 bytes that every full forward's input pins, times their captures."""


def on_spans() -> Source:
    return Twin(SHAPE)


def on_arrays() -> Source:
    return Lab(MLXModel("lfm2", nets.convolution(), nets.bytes_tokenizer(), context=8192), Policy())


def run(source: Source, budget: int, counts: str) -> Recording:
    policy = Policy(prefill_chunk=CHUNK, capture_grid=CHUNK, capture_as="view", budget_bytes=budget).replace(budget_counts=counts)
    prompts = [Request(tokens=tuple((start + index) % 250 for index in range(300)), max_new=2, ignore_stop=True) for start in (0, 60, 120, 180, 240)]
    return source.run(Workload("cold", tuple(prompts)), policy, progress=False)


def test_pinned_bytes_fill_it_and_are_evicted() -> None:
    blind, seeing = (run(on_spans(), BUDGET, counts) for counts in ("paged_out", "resident"))
    # what the snapshots count stays below the budget, so nothing goes, and what they pin passes it
    assert blind.events.filter(kind="evicted").is_empty()
    assert blind.requests["counted"].to_list()[-1] < BUDGET < blind.requests["snapshots"].to_list()[-1]
    assert not seeing.events.filter(kind="evicted").is_empty()
    # only the frontier and what the last prompt captured may be above it: a prompt's four captures pin 64 tokens' input each
    assert seeing.requests["snapshots"].to_list()[-1] < 2 * 5 * CHUNK * CONV < blind.requests["snapshots"].to_list()[-1]


@pytest.mark.parametrize("source", [on_spans, on_arrays])
def test_counted_is_what_live_buffers_and_snapshots_keep_alive(source: Callable[[], Source]) -> None:
    used = source()
    recording = run(used, 10**9, "resident")
    rows = recording.requests
    # by the shape's prices, as no twin knows how an allocator rounds: of these nets' buffers of some KiB, by less than a tenth
    assert rows["counted"].to_list() == run(Twin(used.shape), 10**9, "resident").requests["counted"].to_list()
    assert all(counted <= kept < 1.1 * counted for counted, kept in zip(rows["counted"], rows["live"] + rows["snapshots"], strict=True))
    assert all(snapshots > 2 * paged_out for snapshots, paged_out in rows.select("snapshots", "paged_out").iter_rows())
    same = run(source(), 10**9, "paged_out").requests
    assert rows["paged_out"].to_list() == same["counted"].to_list() == same["paged_out"].to_list()
    assert kvlab.diagnose(recording).about("do_the_parts_add_up").verdict == "adds_up"


def test_real_arrays_evict_for_what_is_pinned() -> None:
    readings = run(on_arrays(), 10**9, "paged_out").bytes.filter(kind="counted", owner="snapshots")
    # what snapshots count is never above it
    budget = int(largest(readings["value"]))
    blind, seeing = (run(on_arrays(), budget, counts) for counts in ("paged_out", "resident"))
    assert blind.events.filter(kind="evicted").is_empty()
    assert not seeing.events.filter(kind="evicted").is_empty()
    assert seeing.requests["snapshots"][-1] < blind.requests["snapshots"][-1]
