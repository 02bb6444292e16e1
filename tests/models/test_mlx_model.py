from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.generate import generate_step

from kvlab.errors import BadValue
from kvlab.models import precision
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.workloads.request import GREEDY, Request, Sampling

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


@pytest.fixture
def model() -> MLXModel:
    return random_llama()


def generate(model: MLXModel, prompt: list[int], count: int) -> list[int]:
    model.prefill(prompt[:-1])
    tokens = model.decode(prompt[-1])
    while len(tokens) < count:
        tokens += model.decode(tokens[-1])
    return tokens


def test_it_generates_what_mlx_lm_generates(model: MLXModel) -> None:
    theirs = [int(token) for token, _ in generate_step(mx.array(PROMPT), model.net, max_tokens=12)]
    assert generate(model, PROMPT, 12) == theirs


def test_every_token_is_written_once(model: MLXModel) -> None:
    model.prefill(PROMPT)
    model.decode(7)
    assert [cache.offset for cache in model.caches] == [len(PROMPT) + 1] * 2
    assert [store.offset for store in model.stores] == [len(PROMPT) + 1]


def test_a_prefill_in_the_same_chunks_gives_the_same_logits_to_the_bit() -> None:
    first, second = random_llama(), random_llama()
    for model in (first, second):
        model.prefill(PROMPT[:4])
        model.prefill(PROMPT[4:])
    assert np.array_equal(np.array(first.logits([8])), np.array(second.logits([8])))


def test_logits_are_those_of_the_last_position(model: MLXModel) -> None:
    logits = model.logits(PROMPT)
    whole = np.array(model.net(mx.array(PROMPT)[None]))[0, -1]
    assert logits.shape == (256,)
    assert np.allclose(np.array(logits), whole, atol=2e-5 * float(np.abs(whole).max()))


def test_given_replies_are_emitted_and_still_evaluated(model: MLXModel) -> None:
    model.begin(1, GREEDY, [11, 12])
    model.prefill(PROMPT[:-1])
    assert [model.decode(PROMPT[-1]), model.decode(11)] == [[11], [12]]
    assert model.caches[0].offset == len(PROMPT) + 1
    other = random_llama()
    expected = generate(other, [*PROMPT, 11, 12], 1)
    assert model.decode(12) == expected


def test_replies_of_one_request_do_not_reach_the_next(model: MLXModel) -> None:
    model.begin(1, GREEDY, [11, 12])
    model.begin(2, GREEDY, None)
    assert generate(model, PROMPT, 3) == generate(random_llama(), PROMPT, 3)


def test_a_seeded_sampling_can_be_repeated() -> None:
    runs: list[list[int]] = []
    for _ in range(2):
        model = random_llama()
        model.begin(1, Sampling(temperature=1.0, seed=3), None)
        runs.append(generate(model, PROMPT, 12))
    assert runs[0] == runs[1]
    assert runs[0] != generate(random_llama(), PROMPT, 12)


def test_after_a_reply_only_weights_and_caches_hold_bytes(model: MLXModel) -> None:
    def unowned() -> int:
        return model.meter.read().active - model.meter.weights() - sum(store.live_retained() for store in model.stores)

    model.prefill(PROMPT)
    before = unowned()
    for _ in range(3):
        model.prefill(PROMPT)
        model.decode(1)
        model.end()
        assert unowned() == before


def test_the_meter_counts_weights_and_never_a_peak_below_active(model: MLXModel) -> None:
    model.prefill(PROMPT)
    weights = sum(array.nbytes for array in _arrays(model))
    assert weights <= model.meter.weights() < weights + 2 * 16384 * len(_arrays(model))
    model.meter.reset_peak()
    reading = model.meter.read()
    assert reading.peak >= reading.active > 0
    assert model.meter.clear_pool() <= reading.pool
    assert model.meter.read().pool == 0


def _arrays(model: MLXModel) -> list[mx.array]:
    from mlx.utils import tree_flatten

    return [array for _, array in tree_flatten(model.net.parameters()) if isinstance(array, mx.array)]


def test_a_request_is_encoded_as_it_is_given(model: MLXModel) -> None:
    assert model.encode(Request(tokens=(5, 6))) == [5, 6]
    assert model.encode(Request(prompt="hé")) == list("hé".encode())
    assert bytes(model.encode(Request(messages=(("user", "hi"),)))).decode() == "user: hi\nassistant: "


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(prompt="a", tokens=(1,)), "tokens and prompt"),
        (Request(messages=(("wizard", "hi"),)), "wizard"),
        (Request(tokens=(1, 256)), "256"),
        (Request(tokens=(-1,)), "-1"),
    ],
)
def test_a_request_that_cannot_be_asked_is_refused(model: MLXModel, request_: Request, message: str) -> None:
    with pytest.raises(BadValue, match=message):
        model.encode(request_)


@pytest.mark.parametrize("request_", [Request(), Request(messages=(("user", "  "),))])
def test_an_empty_prompt_has_no_tokens_and_the_runner_refuses_it(model: MLXModel, request_: Request) -> None:
    assert model.encode(request_) == []
    with pytest.raises(BadValue, match="without a label has an empty prompt"):
        list(Runner(model, Policy()).step(request_))


def test_a_made_up_model_names_the_device_it_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "device", lambda: "somewhere")
    assert random_llama().origin["device"] == "somewhere"


def test_one_seed_makes_one_model() -> None:
    first, second, other = random_llama(seed=1), random_llama(seed=1), random_llama(seed=2)
    prompts = [np.array(model.logits(PROMPT)) for model in (first, second, other)]
    assert np.array_equal(prompts[0], prompts[1])
    assert not np.array_equal(prompts[0], prompts[2])
