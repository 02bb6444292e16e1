"""Where the live buffers stand and how many tokens they have room for, rebuilt from events, against the buffers themselves."""

from __future__ import annotations

import dataclasses

import pytest

import kvlab
from kvlab.events import BytesRead
from kvlab.lab.source import Source
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape
from kvlab.views.dashboard.buffers import Buffers

SLIDING = Shape(
    name="small windows",
    groups=(
        LayerGroup(kind="kv", layers=(5,), bytes_per_token=64),
        LayerGroup(kind="rotating", layers=(0, 1, 2), bytes_per_token=96, window=32, growth_step=8),
        LayerGroup(kind="rotating", layers=(3, 4), bytes_per_token=32, window=128, growth_step=16),
    ),
)
HYBRID = Shape(name="states", groups=(LayerGroup(kind="kv", layers=(1,), bytes_per_token=64), LayerGroup(kind="recurrent", layers=(0, 2), state_bytes=4096)))
CHUNKED = dataclasses.replace(
    SLIDING, groups=(SLIDING.groups[0], LayerGroup(kind="rotating", layers=(0, 1), bytes_per_token=96, window=32, growth_step=8, chunked=True))
)


def seen_and_held(source: Source, workload: str) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Step a workload; at each reading return (offset, room) of every group as the events tell, and as the stores have it."""
    buffers = Buffers(source.shape.to_dict())
    told: dict[int, tuple[int, int]] = {}
    seen: list[list[tuple[int, int]]] = []
    held: list[list[tuple[int, int]]] = []
    for request in kvlab.workloads.resolve(workload).requests:
        for event in source.step(request):
            buffers.take(event)
            for _, group, offset, room in buffers.rows:
                told[group] = offset, room
            buffers.rows.clear()
            if isinstance(event, BytesRead) and event.phase in ("prefill", "attach", "close"):
                seen.append([told[group] for group in sorted(told)])
                held.append([(layer.store.offset, layer.store.capacity if layer.kind != "recurrent" else -1) for layer in source.cache.layers])
    return seen, held


@pytest.mark.parametrize("shape", [SLIDING, HYBRID, CHUNKED], ids=lambda shape: shape.name)
@pytest.mark.parametrize("workload", ["chat:6", "branches:6", "unrelated:4"])
@pytest.mark.parametrize("version", ["", "0.30.8"])
def test_events_tell_what_the_buffers_are(shape: Shape, workload: str, version: str) -> None:
    policy = Policy.ollama(version) if version else Policy(prefill_chunk=16)
    seen, held = seen_and_held(Twin(shape, policy), workload)
    assert seen == held
    assert any(room > 0 for _, room in held[-1])


def test_a_window_keeps_its_room_while_the_offset_goes_on() -> None:
    seen, _ = seen_and_held(Twin(SLIDING), "chat:6")
    offsets = [rows[1][0] for rows in seen]
    assert offsets[-1] > 4 * 32
    assert seen[-1][1] == (offsets[-1], 32), "the ring keeps its window"
    assert seen[-1][0][1] >= offsets[-1], "full attention has room for all"


def test_bytes_that_do_not_bear_a_room_out_leave_it_unknown() -> None:
    buffers = Buffers(SLIDING.to_dict())
    buffers.take(BytesRead(seq=0, phase="close", live_logical=192, live=1001))
    assert [(group, offset, room) for _, group, offset, room in buffers.rows] == [(0, 1, -1), (1, 1, -1), (2, 1, -1)]
