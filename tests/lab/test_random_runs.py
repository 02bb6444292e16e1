"""Random requests under random policies: the lab, the twin and the model without a cache agree (`both_sides.py`).

70 plans in every run; 1,000, on SmolLM2 too, by `pytest -n 0 -m full tests/lab/test_random_runs.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest

from kvlab.models import open_model
from kvlab.models.mlx_model import MLXModel
from tests.lab import both_sides, nets
from tests.lab.cold import Watched
from tests.lab.random_plans import plan


class Subject(NamedTuple):
    """A model, how many tokens its prompts take at most, and how many plans run on it in every run and in all."""

    make: Callable[[], MLXModel]
    most: int
    often: int
    all: int


SUBJECTS = {
    "tiny-hybrid": Subject(lambda: open_model("tiny-hybrid"), 32, 20, 250),
    "tiny-sliding": Subject(lambda: open_model("tiny-sliding"), 32, 20, 250),
    "random-conv": Subject(lambda: open_model("random-conv"), 32, 20, 250),
    "chunks": Subject(lambda: MLXModel("chunks", nets.chunked(), nets.bytes_tokenizer(), context=4096), 32, 10, 150),
    "smollm2": Subject(lambda: open_model("smollm2"), 12, 0, 100),
}
PART = 10
"""Plans of a test."""

ALL = {name: range(0, subject.all, PART) for name, subject in SUBJECTS.items()}


@cache
def models(name: str) -> tuple[MLXModel, Watched]:
    """Return one net as a model that builds forwards ahead, and as one that keeps its logits."""
    plain = SUBJECTS[name].make()
    watched = Watched(plain.name, plain.net, plain.tokenizer, context=plain.shape.context)
    watched.seen = []
    return plain, watched


def run(name: str, first: int) -> None:
    compared = 0
    plain, watched = models(name)
    for seed in range(first, first + PART):
        drawn = plan(seed, plain.shape, vocabulary=min(256, plain.tokenizer.vocabulary), most=SUBJECTS[name].most)
        compared += both_sides.run(watched if seed % 2 else plain, drawn).tokens
    # abandoned and wrong ones are few
    assert compared > 3 * PART


def test_numbers_of_plans() -> None:
    assert sum(subject.often for subject in SUBJECTS.values()) == 70
    assert sum(PART * len(firsts) for firsts in ALL.values()) == 1000


@pytest.mark.parametrize(("name", "first"), [(name, first) for name, firsts in ALL.items() for first in firsts if first < SUBJECTS[name].often])
def test_some_plans(name: str, first: int) -> None:
    run(name, first)


@pytest.mark.full
@pytest.mark.parametrize(("name", "first"), [(name, first) for name, firsts in ALL.items() for first in firsts if first >= SUBJECTS[name].often])
def test_all_plans(name: str, first: int) -> None:
    run(name, first)
