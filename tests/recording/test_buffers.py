"""The live buffers that a recording has, against the buffers themselves."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

import kvlab
from kvlab.events import BytesRead, Event, TokenOut
from kvlab.lab.source import Source
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import LayerGroup, Shape
from tests.recording.streams import manifest

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
    SLIDING, name="chunks", groups=(SLIDING.groups[0], LayerGroup(kind="rotating", layers=(0, 1), bytes_per_token=96, window=32, growth_step=8, chunked=True))
)

POLICIES = {"main": Policy(prefill_chunk=16), "0.30.8": Policy.ollama("0.30.8"), "shrink": Policy(prefill_chunk=50, live_buffer="shrink")}

Buffers = list[tuple[int, int, int, int, int]]


def recorded_and_held(source: Source, workload: str) -> tuple[list[Buffers], list[Buffers]]:
    """Step a workload; return (group, offset, start, capacity, retained bytes) of buffers that hold tokens, as recorded and as the stores have them.

    At every fifth token, and at each reading after which the cache rests until the next event is requested.
    """
    events: list[Event] = []
    held: dict[int, Buffers] = {}
    for request in kvlab.workloads.resolve(workload).requests:
        for event in source.step(request):
            events.append(event)
            if (isinstance(event, TokenOut) and event.index % 5 == 0) or (isinstance(event, BytesRead) and event.phase in ("prefill", "attach", "close")):
                stores = [layer.store for layer in source.cache.layers]
                held[event.seq] = [(group, one.offset, one.first, one.capacity, one.live_retained()) for group, one in enumerate(stores) if one.offset]
    recording = Recording.of(manifest(), events)
    columns = ("group", "offset", "start", "capacity", "retained")
    return [list(recording.at(seq).buffers.select(columns).filter(pl.col("offset") > 0).iter_rows()) for seq in held], list(held.values())


@pytest.mark.parametrize("shape", [SLIDING, HYBRID, CHUNKED], ids=lambda shape: shape.name)
@pytest.mark.parametrize("workload", ["chat:3", "branches:3"])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_recording_has_what_the_buffers_are(shape: Shape, workload: str, policy: Policy) -> None:
    recorded, held = recorded_and_held(Twin(shape, policy), workload)
    assert recorded == held
    assert any(capacity > 0 for *_, capacity, _ in held[-1])


@pytest.mark.parametrize("name", ["tiny-sliding", "tiny-hybrid"])
def test_buffers_of_real_arrays(name: str) -> None:
    recorded, held = recorded_and_held(kvlab.open(name), "chat:3")
    assert [[row[:4] for row in rows] for rows in recorded] == [[row[:4] for row in rows] for rows in held]


def test_draft_layers_follow_with_an_offset_of_their_own() -> None:
    recorded, held = recorded_and_held(kvlab.twin("qwen3.8-27b"), "chat:2")
    assert recorded == held
    assert any(len({offset for _, offset, *_ in rows}) > 1 for rows in held)


def test_a_window_keeps_its_room_while_the_offset_goes_on() -> None:
    recorded, _ = recorded_and_held(Twin(SLIDING), "chat:6")
    offset = recorded[-1][1][1]
    assert offset > 4 * 32
    assert recorded[-1][1][2:4] == (offset - 32, 32), "the ring keeps its window"
    assert recorded[-1][0][3] >= offset, "full attention has room for all"


def test_bytes_before_and_after_add_up() -> None:
    made = Twin(SLIDING).run("chat:3", progress=False)
    for _, changes in made.events.filter(kind="buffer_changed").group_by("group", maintain_order=True):
        assert changes["before"].to_list() == [0, *changes["retained"].to_list()[:-1]]


def test_a_closed_snapshot_names_the_bytes_that_it_had() -> None:
    made = kvlab.twin("smollm2").run("branches:6", progress=False)
    closed = made.events.filter(kind="snapshot_closed").select("snapshot", "counted", "retained", died="seq")
    ended = made.spans.join(closed, on=["snapshot", "died"])
    assert ended.height
    assert ended["counted"].equals(ended["counted_right"])
    assert ended["retained"].equals(ended["retained_right"])
