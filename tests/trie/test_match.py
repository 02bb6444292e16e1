"""The trie against a plain list of sequences, and the upstream scenarios of cache_trie_test (18-26)."""

from __future__ import annotations

import random

import pytest

from kvlab.errors import BadValue
from kvlab.events import Event, Log
from kvlab.trie import Node, Trie, descend, to_keys, width_of
from kvlab.trie.keys import agreeing


def trie_of(*sequences: list[int]) -> tuple[Trie, Log]:
    log = Log()
    trie = Trie(log.append)
    for tokens in sequences:
        insert(trie, tokens)
    return trie, log


def insert(trie: Trie, tokens: list[int]) -> Node:
    return insert_keys(trie, to_keys(tokens))


def insert_keys(trie: Trie, keys: bytes) -> Node:
    path, matched = trie.match(keys)
    node = path[-1]
    if node.end > matched:
        node = trie.split(node, matched)
    rest = keys[trie.width * matched :]
    return trie.append(node, rest) if rest else node


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
            assert len(child.edge) == child.tokens * trie.width
            assert key.to_bytes(trie.width, "little", signed=True) == child.edge[: trie.width]


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


@pytest.mark.parametrize("look_ahead", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_random_sequences_match_as_a_plain_list_does(seed: int, look_ahead: int) -> None:
    rng = random.Random(seed)
    trie = Trie(Log().append, width_of(look_ahead))
    stored: list[list[int]] = []
    for _ in range(150):
        base = rng.choice(stored) if stored and rng.random() < 0.7 else []
        tokens = base[: rng.randrange(len(base) + 1)] + [rng.randrange(-5, 5) for _ in range(rng.randrange(1, 9))]
        want = max((common(tokens, one) for one in stored), default=0)
        keys = to_keys(tokens, look_ahead)
        assert trie.match(keys).matched == max(want - look_ahead, 0)
        insert_keys(trie, keys)
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


def test_with_a_look_ahead_a_key_is_a_token_and_the_next() -> None:
    assert to_keys([7, 8, -1], look_ahead=1) == to_keys([7, 8]) + to_keys([8, -1])
    assert to_keys([7], look_ahead=1) == to_keys([], look_ahead=1) == b""
    with pytest.raises(BadValue, match="look-ahead of 2"):
        to_keys([1, 2, 3], look_ahead=2)


def test_with_a_look_ahead_one_position_less_matches_than_tokens_agree() -> None:
    trie = Trie(Log().append, width_of(1))
    insert_keys(trie, to_keys([1, 2, 3, 4, 5], 1))
    asked = {(1, 2, 3, 9): 2, (1, 2, 3, 4, 5): 4, (1, 2, 3, 4, 5, 6): 4, (1, 2): 1, (1, 9): 0, (1,): 0, (9, 2, 3): 0}
    assert {tokens: trie.match(to_keys(tokens, 1)).matched for tokens in asked} == asked


def test_with_a_look_ahead_siblings_may_share_a_token() -> None:
    trie = Trie(Log().append, width_of(1))
    for tokens in ([1, 2, 3], [1, 2, 4], [1, 5]):
        insert_keys(trie, to_keys(tokens, 1))
    assert sorted(node.end for node in trie.walk()) == [0, 1, 1, 2, 2]
    assert_sound(trie)


def test_a_new_node_is_as_recent_as_its_parent() -> None:
    trie, _ = trie_of([1, 2, 3])
    node = trie.root.children[1]
    node.used = 5
    assert trie.append(node, to_keys([4])).used == 5
    assert trie.split(node, 1).used == 5


def test_children_are_found_whether_one_or_several() -> None:
    trie, _ = trie_of([1, 2])
    for tokens in ([3, 4], [5, 6]):
        insert(trie, tokens)
    one, other, last = (trie.root.children[key] for key in (1, 3, 5))
    trie.remove(other)
    trie.remove(one)
    assert dict(trie.root.children) == {5: last}
    assert (trie.root.only, trie.root.several) == (last, None)
    keys = to_keys([5, 6])
    assert descend(trie.root, keys, 0, 2) == (last, 2)
    assert descend(trie.root, keys, 0, 1) == (last, 1)
    assert descend(trie.root, to_keys([1, 2]), 0, 2) is None
    trie.remove(last)
    assert not trie.root.children
    assert descend(trie.root, keys, 0, 2) is None


def test_one_of_two_siblings_with_the_same_first_key_is_split_merged_and_removed() -> None:
    for first in (True, False):
        trie, _ = trie_of([1, 2, 9])
        one = trie.root.children[1]
        damaged(trie, [1, 3])
        other = trie.root.children[1]
        chosen, rest = (one, other) if first else (other, one)
        head = trie.split(chosen, 1)
        assert trie.merge(chosen) is head
        assert trie.match(chosen.edge) == ([trie.root, chosen], chosen.end)
        trie.remove(chosen)
        assert list(trie.walk()) == [trie.root, rest]
        assert rest.sibling is None


@pytest.mark.parametrize("look_ahead", [0, 1])
def test_agreement_is_counted_wherever_the_first_difference_lies(look_ahead: int) -> None:
    width, length = width_of(look_ahead), 40_000
    edge = to_keys(range(length + look_ahead), look_ahead)
    for differs in (0, 1, 511, 512, 513, 16_383, 16_384, 32_768, length - 1):
        at = differs * width
        other = edge[:at] + bytes(byte ^ 255 for byte in edge[at : at + width]) + edge[at + width :]
        keys = b"\7" * width * 3 + other
        assert agreeing(keys, 3, edge, length + 3, width) == differs
        assert agreeing(keys, 3, edge, 3 + differs // 2, width) == differs // 2
    assert agreeing(edge, 0, edge, length, width) == length


def test_whoever_holds_a_merged_head_does_not_hold_its_keys() -> None:
    trie, _ = trie_of([1, 2, 3, 4])
    node = trie.root.children[1]
    head = trie.split(node, 2)
    trie.merge(node)
    assert (head.edge, head.parent, dict(head.children)) == (b"", None, {})
    assert node.edge == to_keys([1, 2, 3, 4])
