"""A node's stem is the CRC of what leads to it, whatever was split and merged; a ghost is found by it."""

from __future__ import annotations

import random
from zlib import crc32

from kvlab.cache.reuse import GHOST_TOKENS, MOST_GHOSTS, Ghosts
from kvlab.trie import WIDTH, Node, Trie, to_keys


def keys_before(node: Node) -> bytes:
    edges: list[bytes] = []
    above = node.parent
    while above is not None:
        edges.append(above.edge)
        above = above.parent
    return b"".join(reversed(edges))


def grown(trie: Trie, tokens: list[int]) -> Node:
    keys = to_keys(tokens)
    found = trie.match(keys)
    node = found.path[-1]
    if found.matched < node.end:
        node = trie.split(node, found.matched)
    return trie.append(node, keys[found.matched * WIDTH :]) if found.matched < len(tokens) else node


def test_the_stem_is_the_crc_of_what_leads_to_a_node() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        trie = Trie(lambda _: None)
        for _ in range(60):
            grown(trie, rng.choices((1, 2, 3), k=rng.randint(1, 12)))
            nodes = [node for node in trie.walk() if node.parent is not None]
            single = [node for node in nodes if node.parent and node.parent.parent and node.parent.only is node]
            leaves = [node for node in nodes if not node.children]
            if single and rng.random() < 0.4:
                trie.merge(rng.choice(single))
            elif len(leaves) > 3 and rng.random() < 0.3:
                trie.remove(rng.choice(leaves))
            elif rng.random() < 0.2:
                trie.extend(rng.choice(leaves), to_keys((4, 5)))
            for node in trie.walk():
                assert node.stem == crc32(keys_before(node))


def test_a_branch_that_went_is_known_by_its_first_tokens_wherever_nodes_end_now() -> None:
    trie, ghosts = Trie(lambda _: None), Ghosts(WIDTH)
    leaf = grown(trie, [*range(1, 30), *range(100, 120)])
    grown(trie, [*range(1, 30), 7])
    ghosts.remember(leaf)
    trie.remove(leaf)
    asked = to_keys([*range(1, 30), *range(100, 100 + GHOST_TOKENS), 55])
    for cut in (None, 12):
        if cut is not None:
            trie.split(next(node for node in trie.walk() if node.start == 0 and node.end > cut), cut)
        found = trie.match(asked)
        assert found.matched == 29
        assert ghosts.knows(asked, found.matched, found.path[-1])
        assert not ghosts.knows(to_keys([*range(1, 30), *range(100, 100 + GHOST_TOKENS - 1), 55]), 29, found.path[-1])
        assert not ghosts.knows(asked[: 30 * WIDTH], 29, found.path[-1])


def test_an_edge_shorter_than_what_is_kept_is_known_too() -> None:
    trie, ghosts = Trie(lambda _: None), Ghosts(WIDTH)
    leaf = grown(trie, [1, 2, 3])
    ghosts.remember(leaf)
    trie.remove(leaf)
    assert ghosts.knows(to_keys([1, 2, 3, 9, 9]), 0, trie.root)
    assert not ghosts.knows(to_keys([1, 2, 4, 9, 9]), 0, trie.root)


def test_the_oldest_are_forgotten() -> None:
    trie, ghosts = Trie(lambda _: None), Ghosts(WIDTH)
    for first in range(MOST_GHOSTS + 1):
        leaf = grown(trie, [first, 1])
        ghosts.remember(leaf)
        trie.remove(leaf)
    assert not ghosts.knows(to_keys([0, 1, 2]), 0, trie.root)
    assert ghosts.knows(to_keys([1, 1, 2]), 0, trie.root)
    assert ghosts.knows(to_keys([MOST_GHOSTS, 1, 2]), 0, trie.root)
