"""The index's price: bytes a token, time to match, time to find a victim; side by side with mlx-lm's `PromptTrie`.

Times are medians. Both indexes hold the same sequences and are asked the same; kvlab's queries are packed beforehand, as a session
packs its prompt once, and the packing is a row of its own.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kvlab.cache.victims import Victims
from kvlab.recording import computer
from kvlab.studies.bench_runner import Say, machine_words, quiet, require_rounds
from kvlab.trie import to_keys
from kvlab.views import text_table
from tests.bench import index_scenes as scenes
from tests.bench.index_evictions import watch
from tests.bench.index_scenes import Scene


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large things are, in tokens unless said otherwise.

    Attributes:
        whole: A sequence matched from its first to its last token.
        edge: An edge of the trie with many.
        sequences: How many sequences share their first tokens.
        long: Each of them.
        shared: What they share.
        early: How far into its own part a query leaves.
        doubled: A sequence in one edge whose length is then doubled.
        branched: The same for one that branches at every token.
        nodes: Nodes of the cache that evicts.
        evictions: How many evictions are watched.
        peer_rounds: How often the peer is asked: some of its answers take seconds.
    """

    whole: int = 100_000
    edge: int = 250
    sequences: int = 10
    long: int = 16_000
    shared: int = 2_000
    early: int = 100
    doubled: int = 16_000
    branched: int = 2_000
    nodes: int = 50_000
    evictions: int = 5_000
    peer_rounds: int = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: `ours` and `peer` in `unit`; `bar` is the most that ours may be, None when none is set."""

    name: str
    unit: str
    ours: float
    peer: float | None = None
    bar: float | None = None

    @property
    def passed(self) -> bool:
        """Whether ours is not above the bar."""
        return self.bar is None or self.ours <= self.bar

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {"name": self.name, "unit": self.unit, "kvlab": self.ours, "mlx_lm": self.peer, "bar": self.bar, "passed": self.passed}


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured, how often each median was taken, and on what machine."""

    rows: tuple[Row, ...]
    rounds: int
    machine: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every row is at or under its bar."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON holds it."""
        return {
            "bench": "index",
            "rounds": self.rounds,
            "rows": [row.to_dict() for row in self.rows],
            "passed": self.passed,
            "machine": self.machine,
        }


def measure(rounds: int = 201, sizes: Sizes | None = None, say: Say = quiet) -> Bench:
    """Measure every row.

    Raises:
        BadValue: `rounds` is below 1.
    """
    require_rounds(rounds, 201)
    sizes = sizes or Sizes()
    rows: list[Row] = []
    for part in (_bytes, _matches, _doublings, _evictions):
        for row in part(sizes, rounds):
            rows.append(row)
            say(f"{row.name}: {_figure(row.ours)} {row.unit}")
    machine = computer.facts() | {name: computer.version_of(name) for name in ("numpy", "mlx-lm")}
    return Bench(tuple(rows), rounds, machine)


def as_text(seen: Bench) -> str:
    """Return the measurement as a small table for a terminal."""
    titles = ("", "kvlab", "mlx-lm", "bar", "unit", "")
    rows = [
        (row.name, _figure(row.ours), _figure(row.peer), _figure(row.bar), row.unit, "" if row.bar is None else "passed" if row.passed else "OVER ITS BAR")
        for row in seen.rows
    ]
    return "\n".join([text_table.columns(titles, rows, left=(0, 4, 5)), f"medians of {seen.rounds} (mlx-lm: fewer); {machine_words(seen.machine)}"])


def _bytes(sizes: Sizes, rounds: int) -> Iterator[Row]:
    del rounds
    tokens = scenes.fresh(sizes.whole)
    keys = to_keys(tokens)
    # once before it is looked at: what its module takes is not the index
    scenes.peer_of([])
    theirs = _allocated(lambda: scenes.peer_of([tokens])) / sizes.whole

    def with_queue() -> object:
        trie, queue = scenes.trie_of([], sizes.edge), Victims(lambda _: "")
        for node in scenes.store(trie, keys, sizes.edge):
            queue.push(node)
        return trie, queue

    edges = f"{sizes.edge}-token edges"
    yield Row(f"index, {edges}", "bytes/token", _allocated(lambda: scenes.trie_of([tokens], sizes.edge)) / sizes.whole, theirs, 6)
    yield Row(f"index and eviction queue, {edges}", "bytes/token", _allocated(with_queue) / sizes.whole, None, 6)


def _matches(sizes: Sizes, rounds: int) -> Iterator[Row]:
    tokens = scenes.fresh(sizes.whole)
    yield Row(f"pack {sizes.whole:,} token ids", "ms", _median_ms(lambda: to_keys(tokens), rounds))
    yield _match(f"match {sizes.whole:,} tokens, one edge", scenes.full(sizes.whole, sizes.whole), sizes, rounds, 0.02)
    name = f"match {sizes.whole:,} tokens, {-(-sizes.whole // sizes.edge)} edges"
    yield _match(name, scenes.full(sizes.whole, sizes.edge), sizes, rounds, 0.1)
    forks = f"{sizes.sequences} x {sizes.long:,} tokens, {sizes.shared:,} shared: {sizes.sequences} queries leave"
    early = scenes.forks(sizes.sequences, sizes.long, sizes.shared, sizes.early)
    yield _match(f"{forks} {sizes.early} later", early, sizes, rounds, 0.05)
    halfway = scenes.forks(sizes.sequences, sizes.long, sizes.shared, (sizes.long - sizes.shared) // 2)
    yield _match(f"{forks} halfway down", halfway, sizes, rounds, 0.05)


def _doublings(sizes: Sizes, rounds: int) -> Iterator[Row]:
    for name, make, once in (("a query leaves halfway", scenes.tail, sizes.doubled), ("one-token edges, hard siblings", scenes.siblings, sizes.branched)):
        short, long = make(once), make(2 * once)
        ours = _ratio(short.ours, long.ours, rounds)
        theirs = None if short.peer is None else _ratio(short.theirs, long.theirs, sizes.peer_rounds)
        # twice the time, and room for what falls out of the processor's caches; the square would be four times
        yield Row(f"{once:,} tokens doubled: {name}", "x the time", ours, theirs, 3)


def _evictions(sizes: Sizes, rounds: int) -> Iterator[Row]:
    del rounds
    seen = watch(sizes.nodes, sizes.evictions)
    for share, bar in ((50, None), (99, 0.05)):
        yield Row(f"eviction among {sizes.nodes:,} nodes: the pick, p{share}", "ms", _percentile(seen.picks_ns, share) / 1e6, None, bar)
    yield Row("eviction: with merging or freeing, p99", "ms", _percentile(seen.whole_ns, 99) / 1e6)


def _match(name: str, scene: Scene, sizes: Sizes, rounds: int, bar: float | None) -> Row:
    return Row(name, "ms", _median_ms(scene.ours, rounds), _median_ms(scene.theirs, sizes.peer_rounds), bar)


def _median_ms(call: Callable[[], object], rounds: int) -> float:
    call()
    return statistics.median(_ns(call) for _ in range(rounds)) / 1e6


def _ratio(short: Callable[[], object], long: Callable[[], object], rounds: int) -> float:
    # in turn, so that what slows the machine down slows both
    pairs = [(_ns(short), _ns(long)) for _ in range(rounds + 1)][1:]
    return statistics.median(pair[1] for pair in pairs) / statistics.median(pair[0] for pair in pairs)


def _ns(call: Callable[[], object]) -> int:
    begun = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begun


def _percentile(values: list[int], share: int) -> int:
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


def _allocated(build: Callable[[], object]) -> int:
    # everything the interpreter allocated for it and still holds: nodes, edges, dicts, lists, numbers
    gc.collect()
    tracemalloc.start()
    try:
        built = build()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        del built
    finally:
        tracemalloc.stop()
    return held


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
