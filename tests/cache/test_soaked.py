"""What a soak found, cut down to the requests that show it."""

from __future__ import annotations

import polars as pl

from kvlab.events import Log, NodeBorn
from kvlab.lab import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.workloads import Request, Workload
from kvlab.workloads.request import MediaItem

KV = LayerGroup("kv", (1,), bytes_per_token=1, growth_step=4)
RECURRENT = LayerGroup("recurrent", (0,), state_bytes=10)
ITEM = 2**31 + 6


def run(requests: list[Request], policy: Policy, *groups: LayerGroup) -> Recording:
    return Twin(Shape("soaked", groups)).run(Workload("soaked", tuple(requests)), policy, check=True, progress=False)


def broken(recording: Recording) -> list[str]:
    return recording.events.filter(pl.col("kind") == "violation")["message"].to_list()


def test_an_eager_snapshot_begins_where_its_node_does() -> None:
    # before 0.30.8 a snapshot was taken from the live buffers from the node's start, so a node that grew in place stayed covered
    requests = [Request(tokens=tokens, generated=reply) for tokens, reply in (((1, 2), (4,)), ((1, 2, 3, 7), ()), ((13, 14), ()), ((1, 2, 3, 16), ()))]
    policy = Policy.ollama("0.30.7").replace(capture_before_end=1)
    recording = run(requests, policy, RECURRENT, KV)
    assert broken(recording) == []
    assert recording.requests["cached"].to_list()[-1] == recording.requests["matched"].to_list()[-1] == 3


def test_no_request_goes_on_from_inside_an_item_that_ended_a_prompt() -> None:
    # the second prompt ends with the item and asks for no reply: its states rest inside it
    item = (MediaItem(4, 6, ITEM),)
    ends = (7, 6, 7, 3, 8, 8)
    requests = [
        Request(tokens=ends, generated=(1, 3), media=item),
        Request(tokens=ends, generated=(), media=item),
        Request(tokens=(*ends, 1), generated=(), media=item),
        Request(tokens=(*ends, 1, 3, 2, 2), generated=(), media=item),
    ]
    for groups in ((RECURRENT, KV), (KV, RECURRENT), (KV,)):
        recording = run(requests, Policy(capture_grid=4, prefill_chunk=5), *groups)
        assert broken(recording) == []
        assert not any(item[0].cuts(cached) for cached in recording.requests["cached"].to_list())


def test_events_that_a_reader_left_behind_stay_for_the_next_one() -> None:
    log = Log("spans")
    for number in range(3):
        log.append(NodeBorn(node=number))
    first = log.drain()
    next(first)
    del first
    assert [event.seq for event in log.drain()] == [1, 2]
