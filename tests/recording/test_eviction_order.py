"""The order of eviction and the protection of nodes that a recording has, against a walk over the cache's own trie."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab.cache.victims import ORDERS
from kvlab.events import PROTECTIONS, BytesRead, Event
from kvlab.lab.twin import Twin
from kvlab.policy import CHOICES, Policy
from kvlab.recording import Recording
from tests.recording.streams import manifest

AT_REST = ("prefill", "attach", "close")
"""Readings after which the cache rests until the next event is requested."""


def stepped(twin: Twin, workload: str) -> tuple[Recording, dict[int, Any]]:
    """Step a workload; return its recording, and by event at which the cache rested what a walk over its trie gives of each node."""
    events: list[Event] = []
    walked: dict[int, Any] = {}
    for request in kvlab.workloads.resolve(workload).requests:
        for event in twin.step(request):
            events.append(event)
            if isinstance(event, BytesRead) and event.phase in AT_REST:
                walked[event.seq] = _walk(twin)
    return Recording.of(manifest(), events), walked


def _walk(twin: Twin) -> dict[int, tuple[str, int, int, int | None]]:
    cache: Any = twin.cache
    nodes = list(cache.trie.walk())
    order = ORDERS[cache.policy.evict_order]
    goes = sorted((node for node in nodes if not cache.protection(node)), key=lambda node: (*order(node), node.id))
    ranks = {node.id: place for place, node in enumerate(goes, 1)}
    return {node.id: (cache.protection(node), node.used, node.uses, ranks.get(node.id)) for node in nodes}


def _recorded(recording: Recording, seq: int) -> dict[int, tuple[Any, ...]]:
    return {node: tuple(rest) for node, *rest in recording.at(seq).nodes.select("node", "protection", "used", "uses", "rank").iter_rows()}


# a conversation is one path: where the active path is protected it has no candidate
@pytest.mark.parametrize(("workload", "protect"), [("branches:6", "frontier_and_branches"), ("branches:6", "active_path"), ("chat:5", "frontier_and_branches")])
@pytest.mark.parametrize("order", CHOICES["evict_order"])
def test_the_recorded_order_is_the_caches_own_at_every_rest(workload: str, order: str, protect: str) -> None:
    twin = Twin(kvlab.twin("smollm2").shape, Policy(budget_bytes=12 << 20).replace(evict_order=order, protect=protect))
    recording, walked = stepped(twin, workload)
    assert {seq: _recorded(recording, seq) for seq in walked} == walked
    assert max(len([one for one in nodes.values() if one[3]]) for nodes in walked.values()) > 4


@pytest.mark.parametrize("version", ["0.30.7", "0.30.8", "0.33.0"])
def test_older_releases_record_their_order_too(version: str) -> None:
    twin = Twin(kvlab.twin("smollm2").shape, Policy.ollama(version).replace(budget_bytes=12 << 20))
    recording, walked = stepped(twin, "branches:5")
    assert {seq: _recorded(recording, seq) for seq in walked} == walked


OF_AN_EVICTION = ("snapshot_closed", "snapshot_taken", "snapshot_placed", "freed", "allocated", "node_removed", "node_merged")


@pytest.mark.parametrize("order", CHOICES["evict_order"])
def test_eviction_takes_what_was_first(order: str) -> None:
    twin = kvlab.twin("smollm2")
    recording = twin.run("branches:6", policy=twin.policy.replace(budget_bytes=4 << 20, evict_order=order), progress=False)
    kinds = recording.events["kind"].to_list()
    victims = list(recording.events.filter(kind="evicted").select("seq", "node").iter_rows())
    assert len(victims) > 5
    for seq, node in victims:
        before = next(at for at in range(seq - 1, -1, -1) if kinds[at] not in OF_AN_EVICTION)
        assert recording.at(before).nodes.filter(pl.col("rank") == 1)["node"].to_list() == [node]


def test_entries_have_a_clock_and_no_order() -> None:
    twin = kvlab.twin("smollm2")
    recording = twin.run("branches:4", policy=Policy(store="whole_entry_lru"), progress=False)
    nodes = recording.at(recording.events.item(-1, "seq")).nodes
    assert nodes["rank"].null_count() == nodes.height
    assert set(nodes["protection"]) == {"", "root", "no_entry"}
    assert nodes.filter(protection="")["used"].is_unique().all()


def test_every_protection_has_words() -> None:
    twin = kvlab.twin("smollm2")
    recording = twin.run("branches:4", progress=False)
    assert set(recording.events["protection"].drop_nulls()) - {""} <= set(PROTECTIONS)


def test_a_recording_without_them_has_no_order_and_no_buffers() -> None:
    made = kvlab.twin("smollm2").run("branches:2", progress=False)
    older = Recording(dataclasses.replace(made.manifest, events=None), made.events.filter(~pl.col("kind").is_in(["node_ranked", "buffer_changed"])))
    moment = older.at(older.events.item(-1, "seq"))
    assert moment.buffers.height == 0
    assert "the order of eviction was not recorded" in repr(moment)
    assert "not recorded" not in repr(made.at(made.last))
    assert all(moment.nodes[name].null_count() == moment.nodes.height for name in ("protection", "used", "uses", "used_at", "rank"))
