"""Verdicts on seeded series of the twin and of a block server: none without a leak is called one, no large leak is missed, few are left open."""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

import pytest

from kvlab.errors import BadValue
from kvlab.findings import Finding
from kvlab.units import GIB, KIB, MIB
from tests.bench.verdicts import as_text, block_cache, block_server, measure
from tests.bench.verdicts.block_cache import BLOCK, ArenaHeap, BlockCache
from tests.bench.verdicts.block_server import REQUESTS, served
from tests.bench.verdicts.confusion import MAKERS, OPEN, PLAIN, Confusion, Judgement
from tests.bench.verdicts.series import LEAKS, leak_of, sample


def test_no_verdict_is_wrong() -> None:
    """One round; the shares of more are the whole bench's."""
    seen = measure(rounds=1)
    for made_by in MAKERS:
        assert sorted(truth == "no leak" for by, truth, _ in seen.table() if by == made_by) == [False, True]
    assert {maker.wrong for maker in seen.makers()} == {0}


@pytest.mark.full
def test_the_whole_bench_passes() -> None:
    assert measure().passed


def test_what_a_verdict_may_be_follows_from_the_leak_and_the_stated_limit() -> None:
    assert _judged(0, "budget").is_right
    assert _judged(0, OPEN).is_right
    assert not any(_judged(0, verdict).is_right for verdict in ("leak", "unexplained"))
    assert _judged(PLAIN, "leak").is_right
    # an open answer is not wrong; a plain leak that it missed is not found
    assert _judged(PLAIN, OPEN).is_right
    assert not _judged(PLAIN, "budget").is_right
    assert not _judged(PLAIN, "budget", limit=PLAIN - 1).is_right
    hidden = _judged(PLAIN / 2, "budget", limit=PLAIN)
    assert (hidden.is_right, hidden.verdict) == (True, "hidden")


def test_the_bench_passes_without_a_wrong_verdict_with_few_left_open_and_few_plain_leaks_missed() -> None:
    for made_by in MAKERS:
        right = [_judged(0, "budget", made_by)] * 19
        at_most = Confusion((*right, _judged(0, OPEN, made_by)))
        assert at_most.passed
        assert not Confusion((*at_most.judgements, _judged(0, OPEN, made_by))).passed
        assert not Confusion((*at_most.judgements, _judged(0, "leak", made_by))).passed
        found = [_judged(PLAIN, "leak", made_by)] * 9
        for missed in (_judged(PLAIN, OPEN, made_by), _judged(PLAIN, "budget", made_by, limit=2 * PLAIN)):
            assert Confusion((*found, missed)).passed
            assert not Confusion((*found[1:], missed)).passed


def test_the_shares_of_each_maker_are_printed() -> None:
    judged = [_judged(0, verdict, "blocks, size") for verdict in ("leak", OPEN, OPEN, "budget")]
    seen = Confusion((_judged(0, "budget"), *judged, _judged(PLAIN, "leak", "blocks, size"), _judged(PLAIN, "budget", "blocks, size", limit=2 * PLAIN)))
    makers = {row["made_by"]: row for row in seen.to_dict()["makers"]}
    assert makers["twin"] == {"made_by": "twin", "wrong": 0, "false_leak_share": 0, "open_share": 0, "found_share": 1, "hidden": 0}
    assert makers["blocks, size"] == {"made_by": "blocks, size", "wrong": 1, "false_leak_share": 0.25, "open_share": 0.5, "found_share": 0.5, "hidden": 1}
    printed = [line.split() for line in as_text(seen).splitlines()]
    assert ["twin", "0", "0.0%", "0.0%", "100.0%", "0"] in printed
    assert ["blocks,", "size", "1", "25.0%", "50.0%", "50.0%", "1"] in printed


def _judged(leak: float, verdict: str, made_by: str = "twin", *, limit: int = 0) -> Judgement:
    return Judgement(made_by, leak, Finding("budget_or_leak", verdict, "", {"largest_leak_bytes_per_request": limit}, "low", (), ""))


@pytest.mark.parametrize("module", [block_cache, block_server])
def test_the_block_server_shares_no_code(module: object) -> None:
    tree = ast.parse(Path(str(sys.modules[str(getattr(module, "__name__", ""))].__file__)).read_text())
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in named if name.startswith("kvlab")} <= {"tests.bench.verdicts.block_cache"}


def test_blocks_are_found_by_all_tokens_before_them_and_the_least_recent_go() -> None:
    cache = BlockCache(ArenaHeap(MIB), 1000, 4 * 1000)
    first, other = tuple(range(2 * BLOCK + 3)), tuple(range(100, 100 + 2 * BLOCK))
    assert cache.serve(first, ()) == 0
    assert cache.serve(first, ()) == 2 * BLOCK
    assert cache.serve((*other[:BLOCK], *first[BLOCK : 2 * BLOCK]), ()) == 0
    assert cache.held == 4 * 1000
    cache.serve(tuple(range(500, 500 + BLOCK)), ())
    # the end of the first prompt went, its beginning is still there
    assert cache.held == 4 * 1000
    assert cache.serve(first, ()) == BLOCK


def test_a_heap_never_shrinks_and_its_slots_are_for_their_own_class() -> None:
    heap = ArenaHeap(MIB)
    slot = heap.allocate(10 * MIB)
    taken = heap.taken
    heap.free(slot)
    assert heap.allocate(10 * MIB - KIB) == slot
    assert heap.taken == taken >= 10 * MIB
    heap.allocate(14 * MIB)
    assert heap.taken > taken


def test_a_block_server_is_seeded_and_begins_anew_at_a_restart() -> None:
    def figures(seed: int, leak: int = 0) -> tuple[list[tuple[int, int]], int | None]:
        one = served(random.Random(seed), weights=GIB, token_bytes=128 * KIB, budget=GIB, arena=MIB, leak=leak)
        return [(row.counted, row.taken) for row in one.rows], one.restarted

    plain = {seed: figures(seed) for seed in range(4)}
    assert figures(0) == plain[0]
    assert {restarted is None for _, restarted in plain.values()} == {True, False}
    for seed, (rows, restarted) in plain.items():
        leaking, _ = figures(seed, leak=MIB)
        assert len(rows) == REQUESTS
        assert all(GIB <= counted <= taken for counted, taken in rows)
        begins = restarted or 0
        assert [there[0] - here[0] for there, here in zip(leaking, rows, strict=True)][begins:] == [MIB * count for count in range(1, REQUESTS - begins + 1)]
        if restarted is not None:
            assert rows[restarted][0] < rows[restarted - 1][0]


def test_series_are_seeded_and_leaks_have_the_stated_size() -> None:
    first, again = sample(1, leaking=True), sample(1, leaking=True)
    assert (first.longest.observed == again.longest.observed).all()
    assert all(LEAKS[0] <= leak_of(random.Random(seed)) <= LEAKS[1] for seed in range(20))
    assert sample(0, leaking=False).leak == 0


def test_no_series_is_refused() -> None:
    with pytest.raises(BadValue, match="--rounds 0"):
        measure(rounds=0)
