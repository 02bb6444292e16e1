from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from kvlab.errors import BadValue
from kvlab.models.mlx_model import sampler
from kvlab.workloads.request import GREEDY, Sampling

LOGITS = np.array([[0.0, 3.0, 1.0, 2.0]], dtype=np.float32)


def drawn(sampling: Sampling, count: int = 200) -> set[int]:
    choose = sampler(sampling)
    mx.random.seed(sampling.seed or 0)
    return {int(np.array(choose(mx.array(LOGITS)))[0]) for _ in range(count)}


def test_greedy_takes_the_largest() -> None:
    assert drawn(GREEDY, 3) == {int(LOGITS.argmax())}


@pytest.mark.parametrize(
    ("sampling", "allowed"),
    [
        (Sampling(temperature=1.0), {0, 1, 2, 3}),
        (Sampling(temperature=1.0, top_k=2), {1, 3}),
        # shares e^3 : e^2 : e^1 : e^0 of their sum are 0.64, 0.24, 0.09, 0.03
        (Sampling(temperature=1.0, top_p=0.8), {1, 3}),
        (Sampling(temperature=1.0, min_p=0.5), {1}),
    ],
)
def test_what_is_cut_off_is_never_drawn(sampling: Sampling, allowed: set[int]) -> None:
    assert drawn(sampling) == allowed


def test_a_seed_fixes_what_is_drawn() -> None:
    choose = sampler(Sampling(temperature=1.0, seed=7))

    def ten() -> list[int]:
        mx.random.seed(7)
        return [int(np.array(choose(mx.array(LOGITS)))[0]) for _ in range(10)]

    assert ten() == ten()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=-0.1),
        Sampling(top_p=0.0),
        Sampling(top_p=1.1),
        Sampling(top_k=-1),
        Sampling(min_p=1.5),
    ],
)
def test_a_figure_out_of_range_is_named(sampling: Sampling) -> None:
    with pytest.raises(BadValue, match="must be"):
        sampler(sampling)
