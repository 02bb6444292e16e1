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
from kvlab.views.dashboard.standing import standing_buffers

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

POLICIES = {
    "main": Policy(prefill_chunk=16),
    "0.30.8": Policy.ollama("0.30.8"),
    "shrink": Policy(prefill_chunk=50, live_buffer="shrink"),
}


def seen_and_held(source: Source, workload: str, *, looks_later: bool = False) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Step a workload, with `looks_later` its first request before anybody looks.

    Return (offset, room) of every group at each reading, as the events tell them and as the stores have them.
    """
    buffers = Buffers(source.shape.to_dict(), source.policy.to_dict())
    told: dict[int, tuple[int, int]] = {}
    seen: list[list[tuple[int, int]]] = []
    held: list[list[tuple[int, int]]] = []
    first, *rest = kvlab.workloads.resolve(workload).requests
    if looks_later:
        list(source.step(first))
        buffers.stand(standing_buffers(source.cache))
    for request in rest if looks_later else (first, *rest):
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
@pytest.mark.parametrize(
    "policy", [Policy(prefill_chunk=16), Policy.ollama("0.30.8"), Policy(prefill_chunk=50, live_buffer="shrink")], ids=("main", "0.30.8", "shrink")
)
def test_events_tell_what_the_buffers_are(shape: Shape, workload: str, policy: Policy) -> None:
    seen, held = seen_and_held(Twin(shape, policy), workload)
    assert seen == held
    assert any(room > 0 for _, room in held[-1])


@pytest.mark.parametrize("shape", [SLIDING, HYBRID], ids=lambda shape: shape.name)
def test_buffers_that_were_there_before_are_known(shape: Shape) -> None:
    seen, held = seen_and_held(Twin(shape, Policy(prefill_chunk=16)), "chat:4", looks_later=True)
    assert seen == held


@pytest.mark.parametrize("name", ["tiny-sliding", "tiny-hybrid"])
def test_buffers_of_real_arrays(name: str) -> None:
    seen, held = seen_and_held(kvlab.open(name), "chat:5")
    assert seen == held


def test_a_window_keeps_its_room_while_the_offset_goes_on() -> None:
    seen, _ = seen_and_held(Twin(SLIDING), "chat:6")
    offsets = [rows[1][0] for rows in seen]
    assert offsets[-1] > 4 * 32
    assert seen[-1][1] == (offsets[-1], 32), "the ring keeps its window"
    assert seen[-1][0][1] >= offsets[-1], "full attention has room for all"


def test_bytes_that_do_not_bear_a_room_out_leave_it_unknown() -> None:
    buffers = Buffers(SLIDING.to_dict(), {})
    buffers.take(BytesRead(seq=0, phase="close", live_logical=192, live=1001))
    assert [(group, offset, room) for _, group, offset, room in buffers.rows] == [(0, 1, -1), (1, 1, -1), (2, 1, -1)]


def test_layers_without_a_price_have_no_room_that_bytes_could_tell() -> None:
    free = Shape(name="free", groups=(LayerGroup(kind="kv", layers=(0,)), LayerGroup(kind="rotating", layers=(1,), window=8)))
    buffers = Buffers(free.to_dict(), {})
    buffers.take(BytesRead(seq=0, phase="close", live_logical=64, live=64))
    assert {room for *_, room in buffers.rows} == {-1}
