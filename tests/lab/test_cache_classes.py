"""Quantised and concatenating caches: cached equals cold, the twin equals the real run to the byte, mlx-lm's objects are what the model sees."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from mlx_lm.models.cache import ConcatenateKVCache, QuantizedKVCache

from kvlab.errors import BadValue, NotAvailable
from kvlab.lab.lab import Lab, open_lab
from kvlab.models import caches
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from kvlab.workloads import Request
from tests.lab import nets
from tests.lab.cold import Walk, Watched, rows_bytes, sequence
from tests.tools.conformance.checks import CHECKS
from tests.tools.conformance.subject import Differs, Subject

HEAD = 32
EIGHT, FOUR = partial(caches.quantised, bits=8), partial(caches.quantised, bits=4)


def llama(make: Callable[[Any], list[Any]]) -> Watched:
    plain = random_llama(layers=2, hidden=4 * HEAD, heads=4, kv_heads=2)
    model = Watched("llama", plain.net, plain.tokenizer, context=4096, caches=make)
    model.fresh, model.seen = make, []
    return model


@pytest.mark.parametrize("make", [EIGHT, FOUR, nets.concatenating], ids=["8 bits", "4 bits", "concatenating"])
@pytest.mark.parametrize("copies", ["lazy", "eager"])
def test_cached_equals_cold(make: Callable[[Any], list[Any]], copies: str) -> None:
    model = llama(make)
    aligned = 0
    for seed in range(4):
        rng = random.Random(seed)
        budget = rng.choice([0, 60, 200, 10**4]) * model.shape.bytes_per_token
        # quantising rounds what other chunk edges changed in the last bit up or down: one token a chunk has edges everywhere
        walk = Walk(model, Policy(prefill_chunk=1, capture_grid=16, budget_bytes=budget).replace(snapshots=copies))
        for request in sequence(rng, 256, requests=5, most=40, reply=4):
            walk.run(request)
        aligned += walk.aligned
        assert walk.numeric == 0
    assert aligned > 8


def test_what_a_quantised_token_costs() -> None:
    # a row of 32 numbers: 32 bytes packed, one scale and one bias of 4 bytes; keys and values of 2 heads in 2 layers
    price = (HEAD + 2 * 4) * 2 * 2 * 2
    model = llama(EIGHT)
    assert model.shape.groups == (LayerGroup("kv", (0, 1), bytes_per_token=price, growth_step=256),)
    assert llama(FOUR).shape.bytes_per_token == price - HEAD // 2 * 2 * 2 * 2
    assert all(type(cache) is QuantizedKVCache for cache in model.caches)


def test_what_a_concatenating_layer_costs() -> None:
    model = llama(nets.concatenating)
    assert model.shape.groups == (LayerGroup("kv", (0, 1), bytes_per_token=HEAD * 4 * 2 * 2 * 2, growth_step=1),)
    lab = Lab(model, Policy())
    list(lab.step(Request(tokens=tuple(range(40)), max_new=4, ignore_stop=True)))
    # the reply's last token is not forwarded, and the buffers have no room
    assert rows_bytes(lab.cache.layers[0].store) == 43 * model.shape.bytes_per_token
    assert all(type(cache) is ConcatenateKVCache for cache in model.caches)


@pytest.mark.parametrize("make", [EIGHT, nets.concatenating], ids=["8 bits", "concatenating"])
def test_the_forward_built_ahead_changes_no_reply(make: Callable[[Any], list[Any]]) -> None:
    plain = random_llama(hidden=4 * HEAD)
    ahead = MLXModel("llama", plain.net, plain.tokenizer, context=4096, caches=make)
    prompt = tuple(range(1, 30))
    said = [replies(Lab(model, Policy()), prompt) for model in (ahead, llama(make))]
    assert said[0] == said[1]


def replies(lab: Lab, prompt: tuple[int, ...]) -> list[Any]:
    list(lab.step(Request(tokens=prompt, max_new=12, ignore_stop=True)))
    first = lab._ready(lab.policy).last[1]
    list(lab.step(Request(tokens=prompt[:20], max_new=12, ignore_stop=True)))
    return [list(first), list(lab._ready(lab.policy).last[1])]


def test_only_full_attention_is_quantised() -> None:
    with pytest.raises(NotAvailable, match="heads of 16 numbers"):
        caches.quantised(nets.sliding(), 8)
    with pytest.raises(NotAvailable, match="heads of 16 numbers"):
        caches.quantised(random_llama(hidden=64).net, 8)
    with pytest.raises(BadValue, match="3 bits"):
        caches.quantised(random_llama().net, 3)


class Made(Subject):
    """The conformance checks on a llama with other cache objects."""

    def __init__(self, make: Callable[[Any], list[Any]]) -> None:
        super().__init__(random_llama(hidden=4 * HEAD).net, "llama", 128)
        self._make = make

    def fresh(self) -> list[Any]:
        return self._make(self.net)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("make", [EIGHT, FOUR, nets.concatenating], ids=["8 bits", "4 bits", "concatenating"])
def test_the_conformance_checks_hold(make: Callable[[Any], list[Any]], check: str) -> None:
    if check == "rewind" and make is nets.concatenating:
        # mlx-lm's trim moves the offset only, and the next tokens are put behind what was trimmed; kvlab cuts before it writes
        with pytest.raises(Differs, match="after trimming back"):
            CHECKS[check](Made(make))
        return
    CHECKS[check](Made(make))


@pytest.mark.parametrize("name", ["tiny-hybrid", "tiny-sliding"])
def test_a_model_is_opened_with_quantised_keys_and_values(name: str) -> None:
    lab, plain = open_lab(name, kv_bits=8), open_lab(name)
    recording = lab.run(Request(messages=(("user", "Who are you?"),), max_new=3, ignore_stop=True), progress=False, check=True)
    assert recording.manifest.origin["kv_bits"] == "8"
    assert "kv_bits" not in plain.run(Request(prompt="a", max_new=1), progress=False).manifest.origin
    assert recording.events.filter(recording.events["kind"] == "violation").is_empty()
    assert recording.requests["counted"].to_list() == recording.requests["predicted_counted"].to_list()
    priced = {group.kind: (group.bytes_per_token, group.state_bytes) for group in plain.shape.groups}
    for group in lab.shape.groups:
        # only full attention is quantised: of a head's 32 numbers of 4 bytes, 32 bytes packed, and a scale and a bias of 4 bytes each
        token, state = priced[group.kind]
        assert group.state_bytes == state
        assert group.bytes_per_token == (token * 5 // 16 if group.kind == "kv" else token)
