"""Verdicts on the twin's seeded series: none without a leak is called one, no large leak is missed, few are left open; a block server's are counted."""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

import pytest

from kvlab.diagnose import Finding
from kvlab.errors import BadValue
from kvlab.studies.verdicts import as_text, block_cache, block_server, measure
from kvlab.studies.verdicts.block_cache import BLOCK, ArenaHeap, BlockCache
from kvlab.studies.verdicts.block_server import REQUESTS, served
from kvlab.studies.verdicts.confusion import BLOCKS, MAKERS, MOST_OPEN, OPEN, PLAIN, Confusion, Judgement
from kvlab.studies.verdicts.series import LEAKS, sample
from kvlab.units import GIB, KIB, MIB

ROUNDS = 40


def test_no_verdict_is_wrong_and_few_are_left_open() -> None:
    seen = measure(rounds=ROUNDS)
    table = seen.table()
    for made_by in MAKERS:
        count = ROUNDS if made_by == "twin" else ROUNDS // BLOCKS
        assert sum(number for (by, truth, _), number in table.items() if by == made_by and truth == "no leak") == count
        assert sum(number for (by, truth, _), number in table.items() if by == made_by and truth != "no leak") == count
    twin = {(truth, verdict) for by, truth, verdict in table if by == "twin"}
    assert ("no leak", "leak") not in twin
    assert {verdict for truth, verdict in twin if truth != "no leak"} <= {"leak", OPEN}
    assert seen.share("twin", OPEN) <= MOST_OPEN
    assert seen.passed


@pytest.mark.full
def test_the_whole_bench_passes() -> None:
    assert measure().passed


def test_what_a_verdict_may_be_follows_from_the_leak_alone() -> None:
    assert _judged(0, "budget").is_right
    assert _judged(0, OPEN).is_right
    assert not _judged(0, "leak").is_right
    assert _judged(PLAIN, "leak").is_right
    assert not _judged(PLAIN, OPEN).is_right
    assert _judged(PLAIN / 2, OPEN).is_right
    assert not _judged(PLAIN / 2, "budget").is_right


def test_the_bench_passes_by_the_series_of_the_twin_and_prints_the_shares_of_all() -> None:
    right = [_judged(0, "budget")] * 19
    at_most = Confusion((*right, _judged(0, OPEN)))
    assert at_most.passed
    assert not Confusion((*right, _judged(0, OPEN), _judged(0, OPEN))).passed
    assert not Confusion((*right, _judged(0, "leak"))).passed
    blocks = [_judged(0, verdict, "blocks, size") for verdict in ("leak", OPEN, OPEN, "budget")]
    both = Confusion((*at_most.judgements, *blocks))
    assert both.passed
    makers = {row["made_by"]: row for row in both.to_dict()["makers"]}
    assert makers["twin"] == {"made_by": "twin", "wrong": 0, "open_share": 0.05, "false_leak_share": 0}
    assert makers["blocks, size"] == {"made_by": "blocks, size", "wrong": 1, "open_share": 0.5, "false_leak_share": 0.25}
    printed = [line.split() for line in as_text(both).splitlines()]
    assert ["twin", "0", "0.0%", "5.0%"] in printed
    assert ["blocks,", "size", "1", "25.0%", "50.0%"] in printed


def _judged(leak: float, verdict: str, made_by: str = "twin") -> Judgement:
    return Judgement(made_by, leak, Finding("budget_or_leak", verdict, "", {}, "low", (), ""))


@pytest.mark.parametrize("module", [block_cache, block_server])
def test_the_block_server_shares_no_code(module: object) -> None:
    tree = ast.parse(Path(str(sys.modules[str(getattr(module, "__name__", ""))].__file__)).read_text())
    named = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in named if name.startswith("kvlab")} <= {"kvlab.studies.verdicts.block_cache"}


def test_blocks_are_found_by_all_tokens_before_them_and_the_least_recent_go() -> None:
    cache = BlockCache(ArenaHeap(), 1000, 4 * 1000)
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
    heap = ArenaHeap()
    slot = heap.allocate(10 * MIB)
    taken = heap.taken
    heap.free(slot)
    assert heap.allocate(10 * MIB - KIB) == slot
    assert heap.taken == taken >= 10 * MIB
    heap.allocate(14 * MIB)
    assert heap.taken > taken


def test_a_block_server_is_seeded_and_begins_anew_at_a_restart() -> None:
    def figures(seed: int, leak: int = 0) -> tuple[list[tuple[int, int]], int | None]:
        one = served(random.Random(seed), weights=GIB, token_bytes=128 * KIB, budget=GIB, leak=leak)
        return [(row.counted, row.taken) for row in one.rows], one.restarted

    seeds = range(12)
    assert all(figures(seed) == figures(seed) for seed in seeds)
    restarted = {seed: figures(seed)[1] for seed in seeds}
    assert None in restarted.values()
    for seed, place in restarted.items():
        rows, leaking = figures(seed)[0], figures(seed, leak=MIB)[0]
        assert len(rows) == REQUESTS
        assert all(GIB <= counted <= taken for counted, taken in rows)
        lifetimes = [REQUESTS] if place is None else [place, REQUESTS - place]
        assert [leaking[end - 1][0] - rows[end - 1][0] for end in {lifetimes[0], REQUESTS}] == [MIB * lifetimes[0], MIB * lifetimes[-1]][
            : len({lifetimes[0], REQUESTS})
        ]
        if place is not None:
            assert rows[place][0] < rows[place - 1][0]


def test_series_are_seeded_and_leaks_have_the_stated_size() -> None:
    first, again = sample(7, leaking=True), sample(7, leaking=True)
    assert (first.longest.observed == again.longest.observed).all()
    assert all(LEAKS[0] <= sample(seed, leaking=True).leak <= LEAKS[1] for seed in range(20))
    assert sample(8, leaking=False).leak == 0


def test_no_series_is_refused() -> None:
    with pytest.raises(BadValue, match="--rounds 0"):
        measure(rounds=0)
