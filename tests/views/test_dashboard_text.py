"""The dashboard's middle format as text: what stands where, in Python and in the page, from the same events."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from playwright.sync_api import Page

import kvlab
from kvlab.events import PROTECTIONS
from kvlab.shape import LayerGroup, Shape
from kvlab.views.outline_rows import outline_rows
from tests.views.dashboard_page import load

if TYPE_CHECKING:
    from kvlab.recording import Moment, Recording


def scene(page: Page, words: str, seq: int) -> Any:
    """Return what an expression of the page gives at a moment, with `scene` and `store` at hand."""
    return page.evaluate(f"seq => {{ const scene = store.scene(store.placeOf(seq)); return {words}; }}", seq)


def scene_lines(moment: Moment) -> str:
    """Return the trie of a moment, a line a node: the same text as `sceneText` in page/scene.js makes of the page's dataset."""
    return "\n".join(
        f"{'  ' * row.depth}{'*' if row.active else '-'} #{row.node} [{row.start}, {row.end}) {row.state} {row.counted}{' user' if row.user else ''}"
        for row in outline_rows(moment)
    )


def evicting(workload: str, **choices: Any) -> Recording:
    twin = kvlab.twin("smollm2")
    return twin.run(workload, policy=twin.policy.replace(budget_bytes=12 << 20, **choices), progress=False)


def test_the_trie_stands_as_written(page: Page, pair: Recording) -> None:
    load(page, pair)
    after_split = next(seq for seq, kind in pair.events.select("seq", "kind").iter_rows() if kind == "node_split")
    last = pair.events.item(-1, "seq")
    assert scene(page, "sceneText(scene)", after_split - 1).splitlines() == ["* #0 [0, 0) missing 0", "  * #1 [0, 10) owned 10485760"]
    assert scene(page, "sceneText(scene)", last).splitlines() == [
        "* #0 [0, 0) missing 0",
        "  * #2 [0, 4) owned 4194304",
        "    - #1 [4, 10) owned 6291456",
        "    * #3 [4, 9) lazy 0 user",
    ]


@pytest.mark.parametrize("workload", ["unrelated:15", "branches:8", "chat:6"])
def test_page_and_python_see_the_same_trie_at_every_moment(page: Page, workload: str) -> None:
    recording = evicting(workload)
    load(page, recording)
    for seq in recording.events.get_column("seq").gather_every(5):
        assert scene(page, "sceneText(scene)", seq) == scene_lines(recording.at(seq))


@pytest.mark.parametrize("choices", [{}, {"protect": "active_path"}, {"evict_order": "cost"}], ids=("main", "active_path", "cost"))
def test_page_and_python_have_the_same_order_and_buffers_at_every_moment(page: Page, choices: dict[str, str]) -> None:
    recording = evicting("branches:6", **choices)
    load(page, recording)
    stops: list[int] = page.evaluate("store.tables.events.seq")
    for seq, following in list(pairwise(stops))[::4]:
        # what eviction goes by is recorded once before the next event needs it
        moment = recording.at(following - 1)
        assert scene(page, "scene.candidates()", seq) == moment.nodes.drop_nulls("rank").sort("rank")["node"].to_list()
        words = {node: scene(page, f"scene.protectedBy({node})", seq) for node in moment.nodes["node"]}
        assert words == {node: PROTECTIONS.get(reason, "") for node, reason in moment.nodes.select("node", "protection").iter_rows()}
        drawn = scene(page, "liveBuffers(scene).filter(row => row.room >= 0).map(row => [row.group, row.offset, row.from, row.room])", seq)
        assert drawn == [list(row) for row in moment.buffers.select("group", "offset", "start", "capacity").iter_rows()]


def test_spans_stand_along_the_path(page: Page, pair: Recording) -> None:
    load(page, pair)
    last = pair.events.item(-1, "seq")
    rows = "spanRows(scene, {}).groups.map(row => row.spans.map(span => [span.node, span.start, span.end, span.state]))"
    assert scene(page, rows.format(-1), last) == [[[2, 0, 4, "owned"], [3, 4, 9, "lazy"]]]
    assert scene(page, rows.format(1), last) == [[[2, 0, 4, "owned"], [1, 4, 10, "owned"]]]


def test_bytes_stand_as_read(page: Page, pair: Recording) -> None:
    load(page, pair)
    mib = 2**20
    steps = page.evaluate("bytesSteps(store).map(step => [step.request, step.snapshots, step.live, step.counted, step.budget])")
    assert steps == [
        [0, 0, 0, 0, 20 * mib],
        [1, 0, 16 * mib, 0, 20 * mib],
        [1, 10 * mib, 16 * mib, 10 * mib, 20 * mib],
        [2, 10 * mib, 16 * mib, 10 * mib, 20 * mib],
    ]


def test_what_a_window_allocated_and_did_not_free(page: Page, pair: Recording) -> None:
    load(page, pair)
    began = {request: seq for seq, request, kind in pair.events.select("seq", "request", "kind").iter_rows() if kind == "request_began"}
    last = pair.events.item(-1, "seq")
    mib = 2**20
    # request 2 cut the snapshot of request 1 into two new ones; nothing of its own is owned
    found = page.evaluate("([from, to]) => windowWords(store, from, to)", [began[2], last])
    assert found["nodes"] == [[1, 6 * mib], [2, 4 * mib]]
    assert found["grown"] == [["unattributed", mib]]
    # what request 1 allocated is freed by the end
    found = page.evaluate("([from, to]) => windowWords(store, from, to)", [began[1], began[2]])
    assert found["nodes"] == [[1, 10 * mib]]
    assert page.evaluate("([from, to]) => windowWords(store, from, to)", [last, last])["bytes"] == 0


def test_a_prompt_divides_into_restored_evaluated_and_generated(page: Page) -> None:
    recording = kvlab.twin(["recurrent", "kv"]).run("chat:3", progress=False)
    load(page, recording)
    for row in recording.requests.iter_rows(named=True):
        closed = recording.events.filter(kind="request_closed", request=row["request"]).item(0, "seq")
        runs = {
            run["sort"]: run["end"] - run["start"]
            for run in scene(page, f"requestFacts(store, store.requests[store.rowOfRequest.get({row['request']})], scene.seq).runs", closed)
        }
        assert runs.get("restored", 0) == row["cached"]
        assert runs.get("recomputed", 0) == row["matched"] - row["cached"]
        assert runs.get("new", 0) == row["tokens"] - row["matched"]
        assert runs.get("generated", 0) == row["generated"]


@pytest.mark.parametrize("order", ["lru", "fifo", "lfu", "cost"])
@pytest.mark.parametrize("workload", ["unrelated:15", "branches:8"])
def test_the_first_candidate_is_the_next_victim(page: Page, workload: str, order: str) -> None:
    recording = evicting(workload, evict_order=order)
    load(page, recording)
    events = recording.events.select("seq", "kind", "node").rows()
    evicted = [seq for seq, kind, _ in events if kind == "evicted"]
    assert evicted
    before: dict[int, int] = {}
    for at, (seq, kind, node) in enumerate(events):
        if kind != "evicted":
            continue
        # an eviction's own events come before it is told: go back to the moment before them
        place = at - 1
        while events[place][1] in ("node_merged", "node_removed", "snapshot_closed", "snapshot_placed", "snapshot_taken", "allocated", "freed"):
            place -= 1
        before[seq] = events[place][0]
        assert scene(page, "scene.candidates()[0]", before[seq]) == node


def test_jumps_find_their_moments(page: Page) -> None:
    recording = evicting("unrelated:15")
    load(page, recording)
    over = recording.events.filter(kind="bytes_read").filter(pl.col("counted") > pl.col("budget"))
    seq = page.evaluate("store.seqAt(JUMPS['first time over budget'](store, -1))")
    assert seq == over.item(0, "seq")
    first = recording.nodes.filter(node=3)
    assert page.evaluate('store.seqAt(JUMPS["the selected node\'s birth"](store, 3))') == first.item(0, "born")
    assert page.evaluate("JUMPS['first wrong position'](store, -1)") == -1


def test_search_finds_nodes_requests_and_labels(page: Page, fifteen: Recording) -> None:
    load(page, fifteen)
    last = fifteen.events.item(-1, "seq")
    assert scene(page, "searched(scene, '#31')", last) == [31]
    assert scene(page, "searched(scene, 'r15')", last) == [43, 44, 45]
    assert scene(page, "searched(scene, 'Question 14')", last) == [40, 41, 42]
    assert scene(page, "searched(scene, '#1')", last) == []


def test_a_big_trie_opens_folded(page: Page, fifteen: Recording) -> None:
    load(page, fifteen)
    last = fifteen.events.item(-1, "seq")
    rows = "outlineRows(scene, foldedAtFirst(scene)).length"
    assert scene(page, rows, last) == 1 + 30
    assert page.evaluate("""() => {
      const nodes = { node: [0], parent: [-1], start: [0], end: [0], user: [0], request: [0], born: [0], died: [-1] };
      for (let node = 1; node <= 20000; node += 1) {
        const values = { node, parent: node <= 100 ? 0 : node - 100, start: 0, end: 10, user: 0, request: 1, born: 0, died: -1 };
        for (const [name, value] of Object.entries(values)) nodes[name].push(value);
      }
      const events = { seq: [0], kind: [0], request: [1], node: [0], t: [0], offset: [0], sentence: [[0]] };
      const big = new Store({ groups: [], what: [], states: [], add: { nodes, events }, kinds: ["x"], templates: ["x"] });
      const scene = big.scene(0);
      return [scene.alive.length, outlineRows(scene, foldedAtFirst(scene)).length];
    }""") == [20001, 101]


def test_live_buffers_are_told_in_tokens(page: Page) -> None:
    window = 32
    shape = Shape(
        name="windows",
        groups=(
            LayerGroup(kind="kv", layers=(1,), bytes_per_token=64),
            LayerGroup(kind="rotating", layers=(0,), bytes_per_token=64, window=window, growth_step=8),
            LayerGroup(kind="recurrent", layers=(2,), state_bytes=512),
        ),
    )
    twin = kvlab.twin(shape)
    recording = twin.run("chat:4", progress=False)
    load(page, recording)
    kv, ring, state = scene(page, "liveBuffers(scene)", recording.events.item(-1, "seq"))
    offset, room = (twin.cache.layers[0].store.offset, twin.cache.layers[0].store.capacity)
    assert offset > 2 * window
    assert (kv["offset"], kv["from"], kv["room"]) == (offset, 0, room)
    assert (ring["offset"], ring["from"], ring["room"]) == (offset, offset - window, window)
    assert state["offset"] == offset
    words = page.evaluate("row => liveWords(row)", ring)
    assert words == f"offset {offset}; ring of the last {window} tokens holds [{offset - window}, {offset}), room for {window}"
    # while tokens come the offset goes on with them
    token = recording.events.filter(kind="token_out", request=2).row(4, named=True)
    began = recording.events.filter(kind="request_began", request=2).item(0, "tokens")
    assert [row["offset"] for row in scene(page, "liveBuffers(scene)", token["seq"])] == [began + token["index"]] * 3
