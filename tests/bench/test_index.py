"""The bench of the index asks both sides what it says it does. No time is asserted."""

from __future__ import annotations

import math

import pytest

from tests.bench import index
from tests.bench import index_scenes as scenes
from tests.bench.index import Bench, Row, Sizes
from tests.bench.index_evictions import watch
from tests.bench.index_scenes import Scene

TINY = Sizes(whole=600, edge=25, sequences=3, long=80, shared=20, early=5, doubled=30, branched=20, nodes=300, evictions=40, peer_rounds=1)

SCENES = {
    "one edge": (scenes.full(200, 200), 2),
    "many edges": (scenes.full(200, 30), 8),
    "forks": (scenes.forks(3, 90, 30, 10), 5),
    "no stem": (scenes.forks(2, 90, 0, 45), 3),
    "tail": (scenes.tail(50), 2),
    "siblings": (scenes.siblings(40), 161),
}


@pytest.mark.parametrize("name", SCENES)
def test_both_indexes_agree_on_every_query(name: str) -> None:
    scene, nodes = SCENES[name]
    assert scene.trie.nodes == nodes
    for query in scene.queries:
        assert 0 < query.matched <= len(query.tokens)
        assert scene.trie.match(query.keys).matched == query.matched
        if scene.peer is not None:
            assert peer_matched(scene, query.tokens) == query.matched


def peer_matched(scene: Scene, tokens: list[int]) -> int:
    found = scene.peer.search(scenes.MODEL, tokens)
    return len(found.exact) if found.exact is not None else found.common_prefix


def test_edges_are_as_long_as_asked() -> None:
    scene = scenes.full(200, 30)
    assert [node.tokens for node in scene.trie.walk()] == [0, 30, 30, 30, 30, 30, 30, 20]


def test_forks_share_their_first_tokens_and_no_others() -> None:
    scene = scenes.forks(3, 90, 30, 10)
    (stem,) = scene.trie.root.children.values()
    assert (stem.end, len(stem.children)) == (30, 3)
    assert {query.matched for query in scene.queries} == {40}


def test_evictions_happen_among_as_many_nodes_as_asked() -> None:
    seen = watch(400, 60)
    assert seen.nodes[0] >= 400
    assert 60 <= len(seen.whole_ns) <= len(seen.picks_ns)
    assert 0 < seen.merged < len(seen.whole_ns)
    assert all(whole > 0 for whole in seen.whole_ns)


def test_every_row_is_measured_and_told() -> None:
    said: list[str] = []
    seen = index.measure(rounds=2, sizes=TINY, say=said.append)
    assert len(said) == len(seen.rows) == 12
    told = seen.to_dict()
    assert told["bench"] == "index"
    assert [row["name"] for row in told["rows"]] == [row.name for row in seen.rows]
    assert all(math.isfinite(row.ours) and row.ours > 0 for row in seen.rows)
    assert [row.bar for row in seen.rows] == [6, 6, None, 0.02, 0.1, 0.05, 0.05, 3, 3, None, 0.05, None]
    assert [row.peer is not None for row in seen.rows] == [True, False, False, True, True, True, True, True, False, False, False, False]
    text = index.as_text(seen)
    assert all(row.name in text for row in seen.rows)


def test_bytes_per_token_are_those_of_the_whole_index() -> None:
    row = next(iter(index._bytes(Sizes(whole=100_000), 1)))
    assert 4 < row.ours <= 6
    # a dict a token
    assert row.peer is not None
    assert row.peer > 100


def test_a_bench_passes_when_no_row_is_over_its_bar() -> None:
    good, open_ended, bad = Row("a", "ms", 1.0, 2.0, 1.0), Row("b", "ms", 9.0), Row("c", "ms", 1.5, None, 1.0)
    assert Bench((good, open_ended), 1, {}).passed
    assert not Bench((good, bad), 1, {}).passed
    assert bad.to_dict() == {"name": "c", "unit": "ms", "kvlab": 1.5, "mlx_lm": None, "bar": 1.0, "passed": False}
