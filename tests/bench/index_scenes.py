"""Scenes for the bench of the index: a trie with stored sequences, mlx-lm's `PromptTrie` with the same ones, and queries for both.

Invariant: a query's `matched` follows from how it was made, so that a test can hold both indexes against it.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.events import Event
from kvlab.trie import Node, Trie, to_keys

VOCABULARY = 150_000
MODEL = "model"
"""What `PromptTrie` keeps its sequences under."""


@dataclass(frozen=True, slots=True)
class Query:
    """A prompt: its tokens for the peer, its packed keys for the trie, and how many tokens agree with what is stored."""

    tokens: list[int]
    keys: bytes
    matched: int


@dataclass(frozen=True, slots=True)
class Scene:
    """Two indexes with the same sequences, and what is asked of both; `peer` is None where it cannot hold them."""

    trie: Trie
    peer: Any
    queries: tuple[Query, ...]

    def ours(self) -> None:
        """Ask the trie every query."""
        match = self.trie.match
        for query in self.queries:
            match(query.keys)

    def theirs(self) -> None:
        """Ask the peer every query."""
        search = self.peer.search
        for query in self.queries:
            search(MODEL, query.tokens)


def full(tokens: int, edge: int) -> Scene:
    """Return a sequence stored in edges of `edge` tokens, and asked for whole."""
    stored = fresh(tokens)
    return Scene(trie_of([stored], edge), peer_of([stored]), (_query(stored, tokens),))


def forks(sequences: int, tokens: int, shared: int, after: int) -> Scene:
    """Return sequences that share their first tokens, and a query for each that leaves it `after` tokens into its own part."""
    rng = random.Random(sequences)
    stem = fresh(shared, rng)
    stored = [stem + fresh(tokens - shared, rng) for _ in range(sequences)]
    leaves = shared + after
    queries = tuple(_query([*one[:leaves], VOCABULARY, *one[leaves + 1 :]], leaves) for one in stored)
    return Scene(trie_of(stored, tokens), peer_of(stored), queries)


def tail(tokens: int) -> Scene:
    """Return one stored sequence and a query that leaves it halfway."""
    return forks(1, tokens, 0, tokens // 2)


def siblings(tokens: int) -> Scene:
    """Return a sequence of one-token edges, each beside three that a hash table finds hard to tell from it, asked for whole.

    It is the most nodes and the most choices that a sequence of this length can have. The peer takes time with the square of the length to
    store them, so it is not asked.
    """
    stored = fresh(tokens)
    trie = Trie(_unheard)
    node = trie.root
    for token in stored:
        for other in (1, 2, 3):
            # equal low bits: the same slot of a small table
            trie.append(node, to_keys([token + (other << 20)]))
        node = trie.append(node, to_keys([token]))
    return Scene(trie, None, (_query(stored, tokens),))


def fresh(tokens: int, rng: random.Random | None = None) -> list[int]:
    """Return random token ids."""
    rng = rng or random.Random(tokens)
    return rng.choices(range(VOCABULARY), k=tokens)


def trie_of(stored: Iterable[Sequence[int]], edge: int) -> Trie:
    """Return a trie that holds sequences, in edges of at most `edge` tokens."""
    trie = Trie(_unheard)
    for tokens in stored:
        store(trie, to_keys(tokens), edge)
    return trie


def store(trie: Trie, keys: bytes, edge: int) -> list[Node]:
    """Put a sequence into a trie in edges of at most `edge` tokens; return the new nodes."""
    path, matched = trie.match(keys)
    node = path[-1]
    if node.end > matched:
        node = trie.split(node, matched)
    new: list[Node] = []
    for start in range(matched * trie.width, len(keys), edge * trie.width):
        node = trie.append(node, keys[start : start + edge * trie.width])
        new.append(node)
    return new


def peer_of(stored: Iterable[Sequence[int]]) -> Any:
    """Return mlx-lm's index of the same sequences. It is measured, not used: found by name, so that no floor depends on it."""
    peer: Any = importlib.import_module("mlx_lm.models.cache").PromptTrie()
    for tokens in stored:
        peer.add(MODEL, list(tokens), 0)
    return peer


def _query(tokens: list[int], matched: int) -> Query:
    return Query(tokens, to_keys(tokens), matched)


def _unheard(event: Event) -> None:
    del event
