"""Cached equals cold to the last bit where chunk edges are the same, over random sequences of requests. Other layer kinds: `test_random_runs.py`."""

from __future__ import annotations

import random

import pytest

from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from tests.lab.cold import Walk, Watched, sequence

SEQUENCES, PARTS = 200, 20
"""One part of them in every run, all with `pytest -m full`."""


@pytest.fixture(scope="module")
def tiny() -> Watched:
    model = random_llama()
    return Watched(model.name, model.net, model.tokenizer, context=model.shape.context)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in range(1, PARTS))])
def test_random_sequences_on_a_small_llama(tiny: Watched, part: int) -> None:
    aligned = numeric = 0
    for seed in range(part, SEQUENCES, PARTS):
        rng = random.Random(seed)
        budget = rng.choice([0, 60, 200, 10**4]) * tiny.shape.bytes_per_token
        walk = Walk(tiny, Policy(prefill_chunk=rng.choice([8, 16, 32]), capture_grid=32, budget_bytes=budget))
        for request in sequence(rng, 256, requests=6, most=48, reply=4):
            walk.run(request)
        aligned, numeric = aligned + walk.aligned, numeric + walk.numeric
    assert min(aligned, numeric) > SEQUENCES / PARTS
