"""The next forward is built ahead: it changes no token, no cache content and no byte, on any layer kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from kvlab.lab.lab import Lab
from kvlab.layers.mlx_store import parts
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.units import KIB
from kvlab.workloads import Request, Workload
from tests.lab import nets
from tests.lab.cold import Watched

PROMPT = [(7 * at + at // 3) % 256 for at in range(250)]
REPLY = 20
"""Past the first growth step of 256 tokens."""


def llama() -> nn.Module:
    return random_llama().net


NETS: list[Callable[[], nn.Module]] = [llama, nets.hybrid, nets.sliding, nets.convolution]


def opened(net: Callable[[], nn.Module]) -> MLXModel:
    return MLXModel(net.__name__, net(), nets.bytes_tokenizer(), context=4096)


def plain(model: MLXModel, count: int) -> list[int]:
    """Return what greedy forwards of one token each say, nothing built ahead."""
    tokens = [PROMPT[-1]]
    for _ in range(count):
        tokens.append(int(np.array(model.logits([tokens[-1]])).argmax()))
    return tokens[1:]


def contents(model: MLXModel) -> list[Any]:
    return [np.array(one) for _, cache in parts(model.caches) for value in vars(cache).values() for one in arrays(value)]


def arrays(value: Any) -> list[mx.array]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, mx.array)]


@pytest.mark.parametrize("net", NETS)
def test_tokens_and_cache_contents_are_those_of_plain_forwards(net: Callable[[], nn.Module]) -> None:
    ahead, other = opened(net), opened(net)
    for model in (ahead, other):
        model.prefill(PROMPT[:-1])
    said = ahead.decode(PROMPT[-1])
    while len(said) < REPLY:
        said += ahead.decode(said[-1])
    assert said == plain(other, REPLY)
    ahead.end()
    for mine, theirs in zip(contents(ahead), contents(other), strict=True):
        assert np.array_equal(mine, theirs)
    assert [getattr(cache, "offset", None) for cache in ahead.caches] == [getattr(cache, "offset", None) for cache in other.caches]


@pytest.mark.parametrize("net", NETS)
def test_what_was_built_shows_in_no_cache_object_and_is_not_computed_when_another_token_follows(net: Callable[[], nn.Module]) -> None:
    ahead, other = opened(net), opened(net)
    for model in (ahead, other):
        model.prefill(PROMPT[:-1])
    (said,) = ahead.decode(PROMPT[-1])
    plain(other, 1)
    another = (said + 1) % 256
    assert np.array_equal(np.array(ahead.logits([another])), np.array(other.logits([another])))
    assert ahead.decode(another) == [int(np.array(other.logits([another])).argmax())]


def test_buffers_move_on_instead_of_being_copied() -> None:
    model = opened(llama)
    model.prefill(PROMPT * 12)
    (token,) = model.decode(1)
    one_layer = sum(store.live_retained() for store in model.stores) // len(model.caches)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(4):
        (token,) = model.decode(token)
    assert mx.get_peak_memory() - before < one_layer


@pytest.mark.parametrize("net", NETS)
def test_a_run_matches_and_counts_as_one_of_plain_forwards(net: Callable[[], nn.Module]) -> None:
    replies = [3, 1, 30, 0, 12]
    requests = tuple(Request(tokens=tuple(PROMPT[: 40 + 9 * number]), max_new=new, ignore_stop=True) for number, new in enumerate(replies))
    policy = Policy(prefill_chunk=16, capture_grid=32, budget_bytes=100_000)
    columns = ["matched", "cached", "left", "generated", "nodes", "counted"]
    runs: list[Any] = []
    for kind in (MLXModel, Watched):
        model = kind(net.__name__, net(), nets.bytes_tokenizer(), context=4096)
        if isinstance(model, Watched):
            model.seen = []
        recording = Lab(model, policy).run(Workload(name="ahead", requests=requests), progress=False)
        assert recording.requests["unattributed"].abs().max() <= KIB
        runs.append(recording.requests.select(columns).rows())
    assert runs[0] == runs[1]
