"""The trie against a plain list of sequences, and the upstream scenarios of cache_trie_test (18-26)."""

from __future__ import annotations

import random

import pytest

from kvlab.errors import BadValue
from kvlab.events import Event, Log
from kvlab.trie import Node, Trie, to_keys


def trie_of(*sequences: list[int]) -> tuple[Trie, Log]:
    log = Log()
    trie = Trie(log.append)
    for tokens in sequences:
        insert(trie, tokens)
    return trie, log


def insert(trie: Trie, tokens: list[int]) -> Node:
    keys = to_keys(tokens)
    path, matched = trie.match(keys)
    node = path[-1]
    if node.end > matched:
        node = trie.split(node, matched)
    return node if matched == len(tokens) else trie.append(node, keys[4 * matched :])


def common(one: list[int], other: list[int]) -> int:
    return next((at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs), min(len(one), len(other)))


def assert_sound(trie: Trie) -> None:
    nodes = list(trie.walk())
    assert len(nodes) == trie.nodes
    for node in nodes:
        for key, child in node.children.items():
            assert child.parent is node
            assert child.start == node.end
            assert child.tokens > 0
            assert to_keys([key]) == child.edge[:4]


def test_18_match_among_branches() -> None:
    trie, _ = trie_of([1, 2, 3], [4, 5, 6])
    assert [trie.match(to_keys(one)).matched for one in ([1, 2, 3], [4, 5, 6], [7, 8])] == [3, 3, 0]


def test_19_a_whole_edge_wins_over_a_longer_partial_one() -> None:
    trie, _ = trie_of([10, 11, 12])
    whole = trie.root.children[10]
    damaged(trie, [10, 11, 12, 13, 14])
    trie.append(whole, to_keys([13, 20, 21]))
    found = trie.match(to_keys([10, 11, 12, 13, 20, 21]))
    assert found.matched == 6
    assert len(found.path) == 3


def test_20_the_longer_partial_edge_wins() -> None:
    trie, _ = trie_of([1, 2, 9])
    damaged(trie, [1, 2, 3, 4, 5])
    assert trie.match(to_keys([1, 2, 3, 7, 8])).matched == 3


def damaged(trie: Trie, tokens: list[int]) -> None:
    """Hang a second child with the same first key below the root, as no sound trie has."""
    first = trie.root.only
    trie.root.only = None
    trie.append(trie.root, to_keys(tokens)).sibling = first


def test_21_a_split_leaves_flag_and_children_with_the_tail() -> None:
    trie, _ = trie_of([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6])
    node = trie.match(to_keys([1, 2, 3, 4, 5])).path[-1]
    node.user = True
    head = trie.split(node, 2)
    assert (head.start, head.end, head.user) == (0, 2, False)
    assert (node.start, node.end, node.user) == (2, 5, True)
    assert len(node.children) == 1
    assert_sound(trie)


def test_22_split_at_3_then_append() -> None:
    trie, _ = trie_of([1, 2, 3, 4, 5], [1, 2, 3, 6, 7])
    shared = trie.root.children[1]
    assert (shared.end, len(shared.children)) == (3, 2)
    assert [trie.match(to_keys(one)).matched for one in ([1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 3])] == [5, 5, 3]


def test_23_repeated_branching() -> None:
    trie, _ = trie_of([1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 8, 9])
    assert [trie.match(to_keys(one)).matched for one in ([1, 2, 3, 4, 5], [1, 2, 3, 6, 7], [1, 2, 8, 9])] == [5, 5, 4]
    assert_sound(trie)


def test_24_merge_joins_a_parent_into_its_only_child() -> None:
    trie, _ = trie_of([1, 2, 3, 4, 5], [1, 2, 3], [1, 2, 3, 4, 5, 6])
    node = trie.match(to_keys([1, 2, 3, 4, 5])).path[-1]
    head = trie.root.children[1]
    head.used, node.user = 7, True
    trie.merge(node)
    assert (node.start, node.end, node.used, node.user) == (0, 5, 7, True)
    assert head.parent is None
    assert trie.match(to_keys([1, 2, 3, 4, 5, 6])).matched == 6
    assert_sound(trie)


def test_25_split_and_merge_give_back_the_original() -> None:
    trie, _ = trie_of([1, 2, 3, 4, 5])
    node = trie.root.children[1]
    edge = node.edge
    trie.split(node, 3)
    trie.merge(node)
    assert (node.start, node.end, node.edge) == (0, 5, edge)
    assert_sound(trie)


def test_26_only_a_leaf_can_be_removed() -> None:
    trie, _ = trie_of([1, 2, 3], [1, 2, 3, 4])
    node = trie.root.children[1]
    for wrong in (trie.root, node):
        with pytest.raises(ValueError, match=r"parent|children"):
            trie.remove(wrong)
    leaf = node.children[4]
    assert trie.remove(leaf) is node
    assert trie.nodes == 2
    assert_sound(trie)


@pytest.mark.parametrize("seed", range(5))
def test_random_sequences_match_as_a_plain_list_does(seed: int) -> None:
    rng = random.Random(seed)
    trie, _ = trie_of()
    stored: list[list[int]] = []
    for _ in range(150):
        base = rng.choice(stored) if stored and rng.random() < 0.7 else []
        tokens = base[: rng.randrange(len(base) + 1)] + [rng.randrange(-5, 5) for _ in range(rng.randrange(1, 9))]
        want = max((common(tokens, one) for one in stored), default=0)
        assert trie.match(to_keys(tokens)).matched == want
        insert(trie, tokens)
        stored.append(tokens)
        assert_sound(trie)


def test_a_stop_ends_the_match_early() -> None:
    trie, _ = trie_of([1, 2, 3, 4])
    found = trie.match(to_keys([1, 2, 3, 4]), 3)
    assert found.matched == 3
    assert found.path[-1].end == 4


def test_every_change_is_an_event() -> None:
    trie, log = trie_of([1, 2, 3, 4], [1, 2, 9])
    node = trie.root.children[1].children[3]
    trie.remove(trie.root.children[1].children[9])
    trie.merge(node)
    told: list[Event] = list(log.drain())
    assert [event.kind for event in told] == ["node_born", "node_born", "node_split", "node_born", "node_removed", "node_merged"]


def test_a_token_id_beyond_32_bits_is_refused() -> None:
    with pytest.raises(BadValue, match="32 bits"):
        to_keys([2**31])
