"""Cached equals cold and the twin equals the real run, over random sequences of requests on real arrays."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from mlx import nn

from kvlab.lab.lab import Lab
from kvlab.models.mlx_model import MLXModel
from kvlab.models.open import load_net
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from tests.lab import nets
from tests.lab.cold import Walk, Watched, sequence

SEQUENCES = 200
"""A quarter of them in every run, all with `pytest -m full`."""

OTHER_SEQUENCES = 10


@pytest.fixture(scope="module")
def tiny() -> Watched:
    return watched(random_llama())


def watched(model: MLXModel) -> Watched:
    return Watched(model.name, model.net, model.tokenizer, context=model.shape.context)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in (1, 2, 3))])
def test_random_sequences_on_a_small_llama(tiny: Watched, part: int) -> None:
    aligned = numeric = 0
    for seed in range(part, SEQUENCES, 4):
        rng = random.Random(seed)
        budget = rng.choice([0, 60, 200, 10**4]) * tiny.shape.bytes_per_token
        walk = Walk(tiny, Policy(prefill_chunk=rng.choice([8, 16, 32]), capture_grid=32, budget_bytes=budget))
        for request in sequence(rng, 256, requests=6, most=48, reply=4):
            walk.run(request)
        aligned, numeric = aligned + walk.aligned, numeric + walk.numeric
    assert aligned > SEQUENCES / 4
    assert numeric > SEQUENCES / 4


@pytest.mark.parametrize("net", [nets.hybrid, nets.sliding, nets.chunked, nets.convolution])
def test_random_sequences_on_other_layer_kinds(net: Callable[[], nn.Module]) -> None:
    model = Watched(net.__name__, net(), nets.bytes_tokenizer(), context=4096)
    whole = model.shape.state_bytes + 10 * model.shape.bytes_per_token
    numeric = 0
    for seed in range(OTHER_SEQUENCES):
        rng = random.Random(seed)
        walk = Walk(model, Policy(prefill_chunk=rng.choice([8, 16]), capture_grid=16, budget_bytes=rng.choice([0, 2, 6, 100]) * whole))
        for request in sequence(rng, 256, requests=6, most=60, reply=4):
            walk.run(request)
        numeric += walk.numeric
    assert numeric > OTHER_SEQUENCES


@pytest.mark.parametrize("name", ["tiny-hybrid", "tiny-sliding"])
def test_random_sequences_on_the_shipped_models(name: str) -> None:
    loaded = load_net(name)
    model = Watched(name, loaded.net, loaded.tokenizer, context=loaded.context)
    whole = model.shape.state_bytes + 10 * model.shape.bytes_per_token
    for seed in range(5):
        rng = random.Random(seed)
        walk = Walk(model, Policy(prefill_chunk=32, capture_grid=64, budget_bytes=rng.choice([2, 6, 100]) * whole))
        for request in sequence(rng, 256, requests=5, most=200, reply=4):
            walk.run(request)


def test_random_sequences_on_smollm2(smollm2: Lab) -> None:
    assert isinstance(smollm2._model, MLXModel)
    model = watched(smollm2._model)
    for seed in range(6):
        rng = random.Random(seed)
        budget = rng.choice([0, 20, 10**4]) * model.shape.bytes_per_token
        walk = Walk(model, Policy(prefill_chunk=16, capture_grid=32, budget_bytes=budget))
        for request in sequence(rng, 49152, requests=3, most=30, reply=3):
            walk.run(request)
        walk.lab.cache.release()
