"""Requests of one server of its own model, with what it holds after each: prompts of log-normal length, a restart, perhaps a leak.

Nothing of kvlab is imported: what such a series says of a verdict does not rest on the rules that the verdict is made with.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count, islice

from tests.bench.verdicts.block_cache import BLOCK, ArenaHeap, BlockCache

REQUESTS = 60
WORKSPACE = 12 * 1024
"""Bytes of buffers for each token that is read, free again when the request ends."""

LONGEST = 24_000
"""Tokens of the longest prompt."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request: its counts, the bytes the server counts after it, and those its process took for them."""

    tokens: int
    matched: int
    generated: int
    counted: int
    taken: int


@dataclass(frozen=True, slots=True)
class Served:
    """A series: its rows, and the number of the first request after a restart, None without one."""

    rows: tuple[Row, ...]
    restarted: int | None


def served(rng: random.Random, *, weights: int, token_bytes: int, budget: int, arena: int, leak: int) -> Served:
    """Return `REQUESTS` requests.

    Args:
        rng: Source of randomness.
        weights: Bytes of the model.
        token_bytes: Bytes of a token's keys and values.
        budget: Bytes of all cached blocks.
        arena: Bytes by which the heap takes from the system.
        leak: Bytes that are never freed again, with each request.
    """
    restarted = rng.randint(REQUESTS // 4, 3 * REQUESTS // 4) if rng.random() < 1 / 3 else None
    fresh, rows = count(1), list[Row]()

    def take(length: int) -> tuple[int, ...]:
        return tuple(islice(fresh, length))

    system, median, spread = take(rng.choice([0, 200, 3000])), rng.choice([300, 1000, 2500]), rng.uniform(0.5, 1.2)
    turns = rng.choice([0.0, 0.3, 0.8])
    heap, conversation, leaked = ArenaHeap(arena), system, 0
    cache = BlockCache(heap, token_bytes * BLOCK, budget)
    for number in range(REQUESTS):
        if number == restarted:
            heap, leaked = ArenaHeap(arena), 0
            cache = BlockCache(heap, token_bytes * BLOCK, budget)
        new = min(LONGEST, max(4, round(rng.lognormvariate(0, spread) * median)))
        goes_on = rng.random() < turns and len(conversation) + new <= LONGEST
        prompt, reply = (conversation if goes_on else system) + take(new), take(max(2, round(rng.lognormvariate(0, 0.7) * 60)))
        matched = cache.serve(prompt, reply)
        heap.free(heap.allocate(WORKSPACE * (len(prompt) - matched)))
        if leak:
            leaked += leak
            heap.allocate(leak)
        conversation = prompt + reply
        rows.append(Row(len(prompt), matched, len(reply), weights + cache.held + leaked, weights + heap.taken))
    return Served(tuple(rows), restarted)
