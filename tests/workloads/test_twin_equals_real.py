"""The twin of the tokens that a real model saw holds what it held: the table of requests, counted bytes to the byte, retained within a growth step."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import polars as pl
import pytest

import kvlab
from kvlab.events import RequestClosed
from kvlab.lab import Twin
from kvlab.lab.fitting import fitted
from kvlab.lab.lab import Lab
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload
from kvlab.workloads.experiments import EXPERIMENTS

EXACT = ("tokens", "matched", "cached", "left", "nodes", "counted", "reason", "limiting_layer")

ARMS = [f"{name}:{arm}" for name, item in EXPERIMENTS.items() for arm in item.arms]
FAMILIES = ["ladder:1024..131072", "contamination:16x3", "chat:20", "agent", "series:context", "series:requests", "series:concurrency"]
ALL = [name for name in (*EXPERIMENTS, *ARMS, *FAMILIES, "unrelated:15", "repeat:5", "branches:8") if name != "E2"]
QUICK = {
    "tiny-hybrid": ["A1", "A3", "B", "B:after", "D1", "D2", "D7", "D7:before", "series:concurrency"],
    "random-conv": ["B", "B:after"],
    "tiny-sliding": ["A1", "B1", "D2", "D2:before", "D3", "D3:before"],
}
SOME = {"smollm2": ["B2"]}

_labs: dict[str, Lab] = {}


@pytest.fixture(autouse=True)
def fresh_buffers() -> Iterator[None]:
    """Without the allocator's pool: out of it MLX hands a request a buffer up to two pages larger than was asked for."""
    earlier = mx.set_cache_limit(0)
    yield
    mx.set_cache_limit(earlier)


@pytest.fixture(scope="module")
def lab_of() -> Iterator[dict[str, Lab]]:
    yield _labs
    _labs.clear()


def both(lab: Lab, name: str, scale: float | None = None) -> tuple[Recording, Recording]:
    """Run a workload on a model, and the twin on the tokens that the model saw and said."""
    work = fitted(lab, name, scale).workload
    policy = lab.usual_policy.amended(work.policy)
    told: list[Request] = []

    def asked_again(event: object) -> None:
        if isinstance(event, RequestClosed):
            prompt, reply = lab.last
            asked = work.requests[len(told)]
            told.append(Request(tokens=tuple(prompt), generated=tuple(reply), media=asked.media, cancel_after=asked.cancel_after))

    real = lab.run(work, policy, progress=False, each=asked_again)
    return real, Twin(lab.shape).run(Workload(name, tuple(told)), policy, progress=False)


def check(lab: Lab, name: str, scale: float | None = None) -> None:
    real, twin = both(lab, name, scale)
    mine, theirs = real.requests, twin.requests
    for column in EXACT:
        assert mine[column].to_list() == theirs[column].to_list(), (name, column)
    # a reply that is given is told whole, the stop token that ended it with it
    stopped = (mine["stop"] == "stop_token").cast(pl.Int64)
    assert (mine["generated"] + stopped).to_list() == theirs["generated"].to_list(), name
    step = sum(group.bytes_per_token * group.growth_step for group in lab.shape.groups)
    for row, other in zip(mine.iter_rows(named=True), theirs.iter_rows(named=True), strict=True):
        assert abs(row["retained"] - other["retained"]) <= step, (name, row["request"])


@pytest.mark.parametrize(("model", "name"), [(model, name) for model, names in QUICK.items() for name in names])
def test_twin_equals_real(lab_of: dict[str, Lab], model: str, name: str) -> None:
    check(lab_of.setdefault(model, kvlab.open(model)), name, 1 / 64 if name[0] in "BD" and name[:2] != "D2" else None)


@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize(("model", "name"), [(model, name) for model, names in SOME.items() for name in names])
def test_twin_equals_real_on_the_embedded_model(lab_of: dict[str, Lab], model: str, name: str) -> None:
    check(lab_of.setdefault(model, kvlab.open(model)), name, 1 / 128)


@pytest.mark.full
@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize("model", ["tiny-hybrid", "tiny-sliding", "smollm2"])
@pytest.mark.parametrize("name", ALL)
def test_twin_equals_real_everywhere(lab_of: dict[str, Lab], model: str, name: str) -> None:
    check(lab_of.setdefault(model, kvlab.open(model)), name)


SAME = [
    *[("random-conv", name) for name in ("B", "B1", "B:after")],
    *[("tiny-hybrid", name) for name in ("A1", "A2", "A3", "B:after", "D4", "D4:before", "E1")],
    *[("tiny-sliding", name) for name in ("A1", "A2", "A3", "B:after", "D4", "D4:before", "E1")],
    *[("smollm2", name) for name in ("A1", "A2", "A3", "B:after", "E1")],
]
"""Where the model has the layers that an experiment is about. Nothing is pinned where mlx-lm copies a convolution's state out by itself (B),
nothing grows on a path of lazy KV (D4:before)."""


def check_verdict(lab: Lab, name: str) -> None:
    whole = kvlab.workloads.named(name)
    large = kvlab.diagnose(kvlab.twin(whole.shape_name).run(whole, progress=False)).about("budget_or_leak").verdict
    work = fitted(lab, name).workload
    recording = lab.run(work, progress=False)
    assert kvlab.diagnose(recording).about("budget_or_leak").verdict == large
    assert recording.requests.filter(pl.col("stop") == "cancelled").is_empty()


@pytest.mark.parametrize(
    ("model", "name"), [("tiny-hybrid", "A1"), ("random-conv", "B"), ("random-conv", "B:after"), ("tiny-hybrid", "E1"), ("tiny-sliding", "A1")]
)
def test_a_small_model_gives_the_verdict_of_the_large_twin(lab_of: dict[str, Lab], model: str, name: str) -> None:
    check_verdict(lab_of.setdefault(model, kvlab.open(model)), name)


@pytest.mark.full
@pytest.mark.usefixtures("embedded_model")
@pytest.mark.parametrize(("model", "name"), SAME)
def test_every_small_model_gives_the_verdict_of_the_large_twin(lab_of: dict[str, Lab], model: str, name: str) -> None:
    check_verdict(lab_of.setdefault(model, kvlab.open(model)), name)
