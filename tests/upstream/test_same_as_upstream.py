"""The engine against stored outcomes of upstream's own code (`README.md`): 2,000 sequences for each set of its rules, 1,000 with draft layers, and 600 of
main with hidden-state caches and requests that score.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from tests.upstream.engine import outcome
from tests.upstream.sequences import sequence

OUTCOMES = Path(__file__).parent / "outcomes"

PLAIN = {"0.30.7": "0.30.7", "0.30.8": "0.30.8", "0.32.5": "0.30.8", "0.32.7": "0.32.7", "0.33.0": "0.33.0", "main": "main"}
"""By release: the release whose outcomes it has, the first with these rules."""

WITH_DRAFTS = {"0.31.1": "0.30.11", "0.32.5": "0.32.1", "0.32.7": "0.32.7", "0.33.0": "0.33.0", "main": "main"}

FEW = 200
"""Sequences of each set that every run of the tests compares; `-m full` compares all."""


def stored(name: str) -> list[list[str]]:
    return [line.split(";") for line in lzma.decompress((OUTCOMES / f"{name}.txt.xz").read_bytes()).decode().splitlines()]


def differing(version: str, name: str, first: int, last: int | None = None) -> list[str]:
    """Compare; every other sequence writes its replies at once, as long runs of the twin do."""
    wanted = stored(name)[first:last]
    assert wanted
    found: list[str] = []
    for number, requests in enumerate(wanted, first):
        ours = outcome(sequence(number, version, drafted=name.endswith("-drafted"), hidden=name.endswith("-hidden")), singly=number % 2 == 0)
        request = next((place for place, pair in enumerate(zip(ours, requests, strict=True)) if pair[0] != pair[1]), None)
        if request is not None:
            found.append(f"sequence {number}, request {request + 1}: kvlab {ours[request]}, upstream {requests[request]}")
    return found


@pytest.mark.parametrize("version", PLAIN)
def test_first_sequences(version: str) -> None:
    assert differing(version, PLAIN[version], 0, FEW) == []


@pytest.mark.parametrize("version", WITH_DRAFTS)
def test_first_sequences_with_drafts(version: str) -> None:
    assert differing(version, f"{WITH_DRAFTS[version]}-drafted", 0, FEW // 2) == []


def test_first_sequences_with_hidden_states_and_scoring() -> None:
    assert differing("main", "main-hidden", 0, FEW // 2) == []


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "cases" / "upstream").glob("*.json")), ids=lambda path: path.stem)
def test_handed_cases(path: Path) -> None:
    case = json.loads(path.read_text())
    expected = case["expected"]
    wanted = [[row["matched"], row["cached"], nodes] for row, nodes in zip(expected["checkpoints"], expected["nodes"], strict=True)]
    found = [(row.split("|")[0].split(), row.count(",") + 1) for row in outcome(case)]
    assert [[int(numbers[0]), int(numbers[1]), nodes] for numbers, nodes in found] == wanted
    if "paged_out_bytes" in expected:
        assert [int(numbers[-1]) for numbers, _ in found] == expected["paged_out_bytes"]


@pytest.mark.full
@pytest.mark.parametrize("version", PLAIN)
def test_all_sequences(version: str) -> None:
    assert differing(version, PLAIN[version], FEW) == []


@pytest.mark.full
@pytest.mark.parametrize("version", WITH_DRAFTS)
def test_all_sequences_with_drafts(version: str) -> None:
    assert differing(version, f"{WITH_DRAFTS[version]}-drafted", FEW // 2) == []


@pytest.mark.full
def test_all_sequences_with_hidden_states_and_scoring() -> None:
    assert differing("main", "main-hidden", FEW // 2) == []
