"""Reported bytes: weights + live + paged out + pool, and how `ollama ps` prints them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import kvlab
from kvlab.events import BytesRead
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recording
from kvlab.recording.reported import reported, reported_bytes, shared_with_live
from kvlab.shape import LayerGroup, Shape
from kvlab.units import GIB
from kvlab.workloads import Request, Workload, case
from kvlab.workloads.streams import Fresh

CASES = Path(__file__).resolve().parents[1] / "cases"
WEIGHTS, STATE, KV = 10_000, 1000, 64
HYBRID = Shape("hybrid", (LayerGroup("recurrent", (0,), state_bytes=STATE), LayerGroup("kv", (1,), bytes_per_token=KV)), weights_bytes=WEIGHTS)


def unrelated(count: int) -> Workload:
    fresh = Fresh()
    return Workload("unrelated", tuple(Request(tokens=fresh.take(100), max_new=5, ignore_stop=True) for _ in range(count)))


def test_the_sum() -> None:
    assert reported(weights=1000, live=100, paged_out=50, pool=7, shared=30) == 1127


@pytest.mark.parametrize("arm", ["before", "after"])
def test_the_fifty_turn_table_is_reported_as_published(arm: str) -> None:
    work = case(CASES / f"chat_50_turns_{arm}.json")
    assert work.shape is not None
    told = reported_bytes(kvlab.twin(work.shape).run(work, progress=False))
    for point in work.expected["checkpoints"]:
        assert told[point["request"]] / GIB == pytest.approx(point["reported_gib"], abs=0.05)


def test_a_state_stored_at_close_is_the_live_one() -> None:
    recording = kvlab.twin(HYBRID).run(unrelated(3), Policy(), progress=False)
    assert shared_with_live(recording) == {1: STATE, 2: STATE, 3: STATE}
    counted = recording.requests["counted"].to_list()
    assert reported_bytes(recording) == {request: WEIGHTS + 256 * KV + counted[request - 1] for request in (1, 2, 3)}


def test_when_the_state_is_stored_changes_no_reported_byte() -> None:
    at_close, at_switch = (kvlab.twin(HYBRID).run(unrelated(3), Policy(page_out=moment), progress=False) for moment in ("at_close", "at_switch"))
    assert shared_with_live(at_switch) == {}
    assert reported_bytes(at_close) == reported_bytes(at_switch)


def test_full_attention_shares_nothing() -> None:
    shape = dataclasses.replace(HYBRID, groups=HYBRID.groups[1:])
    assert shared_with_live(kvlab.twin(shape).run(unrelated(2), progress=False)) == {}


def test_a_sliding_window_s_rows_are_shared_as_far_as_the_snapshot_counts_them() -> None:
    shape = Shape("window", (LayerGroup("rotating", (0,), bytes_per_token=2, state_bytes=2 * 64, window=64),))
    recording = kvlab.twin(shape).run(unrelated(2), progress=False)
    assert shared_with_live(recording) == {1: 128, 2: 128}


def test_a_real_run_is_taken_as_it_was_read() -> None:
    event = BytesRead(phase="close", weights=1000, live=100, counted=160, paged_out=50, snapshots=60, active=1160, pool=7, request=1)
    event.seq, event.source = 0, "lab"
    recording = Recording.of(Manifest.now(model="m", shape=HYBRID, policy={"budget_counts": "resident"}), [event])
    assert shared_with_live(recording) == {}
    assert reported_bytes(recording) == {1: 1000 + 100 + 50 + 7}
