"""Nodes, spans and any moment, against an oracle that replays the events one by one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvlab.errors import BadValue
from kvlab.events import (
    BytesRead,
    Event,
    FrontierMoved,
    Loaded,
    Log,
    NodeBorn,
    NodeMerged,
    NodeRanked,
    NodeRemoved,
    NodeSplit,
    SnapshotClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
)
from kvlab.recording import Moment, Recording, fold_nodes, fold_spans
from tests.recording.streams import World, manifest, random_events, replay


def _log(*events: Event, source: str = "lab") -> list[Event]:
    log = Log(source)
    log.request = 1
    for event in events:
        log.append(event)
    return list(log.drain())


def _of(*events: Event) -> Recording:
    return Recording.of(manifest(), _log(*events))


def _check(moment: Moment, world: World) -> None:
    counted = dict.fromkeys(world.nodes, 0)
    states: dict[tuple[int, str], int] = {}
    for snapshot in world.snapshots.values():
        if snapshot["node"] in counted:
            counted[snapshot["node"]] += snapshot["counted"]
            key = snapshot["node"], snapshot["state"]
            states[key] = states.get(key, 0) + 1
    active = world.active()
    expected = {
        name: node
        | {"active": name in active, "counted": counted[name]}
        | {state: states.get((name, state), 0) for state in ("lazy", "owned", "view")}
        | _rank(world, name)
        for name, node in world.nodes.items()
    }
    assert {row.pop("node"): row for row in moment.nodes.drop("born", "died").to_dicts()} == expected
    assert {row.pop("snapshot"): row for row in moment.spans.drop("born", "died").to_dicts()} == world.snapshots
    assert {row.pop("group"): row for row in moment.buffers.to_dicts()} == world.held()
    assert moment.frontier == world.frontier
    assert moment.request == world.request
    reading = world.reading
    names = [name for name in moment.bytes if name != "seq"]
    assert moment.bytes == ({} if reading is None else {"seq": reading.seq} | {name: getattr(reading, name) for name in names})
    if reading is not None:
        assert set(names) == set(BytesRead.__slots__)


def _rank(world: World, node: int) -> dict[str, Any]:
    order = world.order()
    ranked, rank = world.ranks.get(node), order.index(node) + 1 if node in order else None
    if ranked is None:
        return dict.fromkeys(("protection", "used", "uses", "used_at", "rank"))
    used_at = world.used_at[ranked.used] if ranked.used else None
    return {"protection": ranked.protection, "used": ranked.used, "uses": ranked.uses, "used_at": used_at, "rank": rank}


def _check_versions(table: pl.DataFrame, key: str) -> None:
    for _, versions in table.group_by(key):
        rows: list[dict[str, Any]] = versions.sort("born").to_dicts()
        assert all(one["born"] < (one["died"] or one["born"] + 1) for one in rows)
        assert all(one["died"] is not None and one["died"] <= two["born"] for one, two in itertools.pairwise(rows))
    assert table["born"].is_sorted()


@given(seed=st.integers(0, 2**32), requests=st.integers(1, 8), steps=st.integers(0, 60))
@settings(max_examples=25)
def test_every_moment_is_what_a_replay_gives(seed: int, requests: int, steps: int) -> None:
    events = random_events(seed, requests, steps)
    recording = Recording.of(manifest(), events)
    _check_versions(recording.nodes, "node")
    _check_versions(recording.spans, "snapshot")
    seqs = {events[0].seq, events[-1].seq} | set(random.Random(seed).choices([event.seq for event in events], k=12))
    for seq in seqs:
        _check(recording.at(seq), replay(events, seq))


def test_every_moment_of_one_long_stream() -> None:
    events = random_events(11, requests=5, steps=60)
    recording = Recording.of(manifest(), events)
    for event in events:
        _check(recording.at(event.seq), replay(events, event.seq))


def test_a_split_and_a_merge_give_these_versions() -> None:
    recording = _of(
        NodeBorn(node=0),
        NodeBorn(node=1, parent=0, start=0, end=10, user=True),
        NodeSplit(node=1, head=2, start=0, end=4),
        NodeMerged(node=1, head=2, start=0, end=10),
    )
    assert recording.nodes.rows() == [
        (0, -1, 0, 0, False, 1, 0, None),
        (1, 0, 0, 10, True, 1, 1, 2),
        (1, 2, 4, 10, True, 1, 2, 3),
        (2, 0, 0, 4, False, 1, 2, 3),
        (1, 0, 0, 10, True, 1, 3, None),
    ]


def test_placing_and_owning_a_snapshot_give_these_versions() -> None:
    recording = _of(
        SnapshotTaken(snapshot=5, group=1, layer="kv", start=2, end=8, call_site="taker"),
        SnapshotPlaced(snapshot=5, node=3),
        SnapshotOwned(snapshot=5, counted=60, retained=64, call_site="copier"),
        SnapshotClosed(snapshot=5),
    )
    assert recording.spans.rows() == [
        (5, None, 1, "kv", 2, 8, "lazy", 0, 0, 1, 0, 1, "taker"),
        (5, 3, 1, "kv", 2, 8, "lazy", 0, 0, 1, 1, 2, "taker"),
        (5, 3, 1, "kv", 2, 8, "owned", 60, 64, 1, 2, 3, "copier"),
    ]


def test_a_recording_that_begins_in_the_middle_is_folded_as_far_as_it_is_known() -> None:
    recording = _of(
        Loaded(),
        NodeSplit(node=7, head=8, start=0, end=4),
        NodeMerged(node=9, head=10, start=2, end=6),
        NodeRemoved(node=11),
        SnapshotPlaced(snapshot=1, node=8),
        SnapshotClosed(snapshot=2),
        FrontierMoved(node=7),
    )
    moment = recording.at(6)
    assert moment.nodes.select("node", "parent", "start", "end").rows() == [(0, -1, 0, 0), (7, 8, 4, None), (8, None, 0, 4), (9, None, 2, 6)]
    assert set(moment.nodes.filter("active")["node"]) == {7, 8}
    assert moment.spans.select("snapshot", "node", "state").rows() == [(1, 8, None)]


def test_a_second_root_is_a_new_trie() -> None:
    recording = _of(NodeBorn(node=0), NodeBorn(node=1, parent=0, end=5), NodeBorn(node=0), NodeBorn(node=1, parent=0, end=9))
    assert recording.at(1).nodes["node"].to_list() == [0, 1]
    assert recording.at(2).nodes["node"].to_list() == [0]
    assert recording.at(3).nodes.select("node", "end").rows() == [(0, 0), (1, 9)]


def test_a_node_born_again_has_grown_in_place() -> None:
    recording = _of(NodeBorn(node=0), NodeBorn(node=1, parent=0, end=5), NodeBorn(node=1, parent=0, end=9))
    assert recording.nodes.filter(pl.col("node") == 1).select("end", "born", "died").rows() == [(5, 1, 2), (9, 2, None)]


def test_predictions_are_not_what_was_observed() -> None:
    recording = _of(BytesRead(counted=1), BytesRead(counted=2, source="twin"), Loaded())
    assert recording.at(2).bytes["counted"] == 1


def test_what_the_twin_alone_recorded_is_observed() -> None:
    events = _log(BytesRead(counted=1, phase="close"), source="spans")
    recording = Recording.of(manifest(source="twin"), events)
    assert recording.at(0).bytes["counted"] == 1
    assert recording.requests.select("counted", "predicted_counted").rows() == [(1, None)]


@pytest.mark.parametrize("seq", [-1, 2])
def test_a_moment_outside_the_recording_is_an_error(seq: int) -> None:
    with pytest.raises(BadValue, match="events are 0 to 1"):
        _of(Loaded(), Loaded()).at(seq)


def test_a_recording_without_events_has_no_moment() -> None:
    with pytest.raises(BadValue, match="no events"):
        _of().at(0)


def test_tables_of_nothing_have_their_columns() -> None:
    for recording in (_of(), _of(Loaded())):
        assert recording.nodes.schema == pl.Schema(fold_nodes.SCHEMA)
        assert recording.spans.schema == pl.Schema(fold_spans.SCHEMA)
        assert not recording.nodes.height
        assert not recording.spans.height


def test_a_moment_says_what_it_holds() -> None:
    moment = _of(NodeBorn(node=0), NodeBorn(node=1, parent=0, end=5), FrontierMoved(node=1)).at(2)
    words = "Moment(seq=2, request=1: 2 nodes, 2 on the active path to 1; 0 snapshots, 0 bytes counted"
    assert repr(moment) == f"{words}; the order of eviction was not recorded)"
    ranked = _of(NodeBorn(node=0), NodeBorn(node=1, parent=0, end=5), FrontierMoved(node=1), NodeRanked(node=1, protection="frontier")).at(3)
    assert repr(ranked) == f"{words})".replace("seq=2", "seq=3")
