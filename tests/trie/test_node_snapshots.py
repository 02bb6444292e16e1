"""Upstream scenarios 21, 24 and 25 of cache_trie_test as far as snapshots go; the trie's own part stands in test_match.py."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from kvlab.trie import Node
from tests.cache.harness import Harness, harness

FIVE = [1, 2, 3, 4, 5]


@pytest.fixture(params=["spans", "mlx"])
def bench(request: pytest.FixtureRequest) -> Generator[Harness, None, None]:
    made = harness(["kv"], 0, request.param)
    yield made
    made.finish()


def span(node: Node) -> tuple[int, int]:
    snapshot = node.snapshots[0]
    assert snapshot is not None
    return snapshot.start, snapshot.end


def test_21_both_halves_of_a_split_have_snapshots(bench: Harness) -> None:
    bench.run([*FIVE, 6])
    node = bench.node_at(5)
    node.user = True
    head = bench.cache.split(node, 3)
    assert (span(head), span(node)) == ((0, 3), (3, 5))
    assert (head.user, node.user) == (False, True)


def test_24_a_merge_joins_snapshots_and_takes_the_childs_flag(bench: Harness) -> None:
    bench.run([*FIVE, 6], captures=[3])
    parent, child = bench.node_at(3), bench.node_at(5)
    assert (parent.user, child.user) == (True, False)
    bench.cache.merge(child)
    assert (span(child), child.user, parent.parent) == ((0, 5), False, None)


def test_24_a_parent_of_two_is_not_merged(bench: Harness) -> None:
    bench.run([*FIVE, 6])
    bench.run([1, 2, 3, 8, 9])
    shared = bench.node_at(3)
    assert len(shared.children) == 2
    with pytest.raises(ValueError, match="children"):
        bench.cache.trie.merge(bench.node_at(5))
    assert bench.matched([1, 2, 3, 8]) == 4


def test_25_split_and_merge_give_back_the_original(bench: Harness) -> None:
    bench.run([*FIVE, 6])
    node = bench.node_at(5)
    edge = node.edge
    bench.cache.split(node, 3)
    bench.cache.merge(node)
    assert (node.start, node.end, node.edge, span(node)) == (0, 5, edge, (0, 5))
