"""Servers without a leak: models, releases and kinds of use, each run once on the twin, request by request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kvlab.lab.shapes import read_shape
from kvlab.lab.twin import Twin, expected_policy
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Values
from kvlab.recording.reported import reported_bytes
from kvlab.shape import Shape
from kvlab.workloads import Request, Workload
from kvlab.workloads.streams import Fresh

BEFORE = 30
"""Requests a server has served before the series begins, when it began before."""

WINDOW = 60
"""Requests of a series."""

MODELS = ("qwen3.8-27b", "qwen3.6-35b-a3b", "gemma4-31b", "qwen3-8b")
RELEASES = ("main", "0.33.0", "0.32.7")


@dataclass(frozen=True, slots=True)
class SimulatedServer:
    """What a server reports of its requests and what it holds after each.

    Attributes:
        shape: Its model.
        policy: The rules it follows.
        counts: Of its requests.
        holds: Bytes it is reported with after each.
    """

    shape: Shape
    policy: Policy
    counts: tuple[Counts, ...]
    holds: Values


def unrelated(rng: random.Random, fresh: Fresh) -> Iterator[Request]:
    """Yield short unrelated requests after one short beginning."""
    system = fresh.take(18)
    longest = rng.choice([40, 400, 2000])
    while True:
        yield Request(tokens=system + fresh.take(rng.randint(20, longest)), generated=fresh.take(rng.randint(2, 40)))


def tools(rng: random.Random, fresh: Fresh) -> Iterator[Request]:
    """Yield short requests after one long beginning of instructions and tools."""
    system = fresh.take(rng.randint(4000, 19000))
    while True:
        yield Request(tokens=system + fresh.take(rng.randint(5, 60)), generated=fresh.take(rng.randint(2, 40)))


def chat(rng: random.Random, fresh: Fresh) -> Iterator[Request]:
    """Yield one conversation whose replies come back rendered otherwise."""
    tokens = fresh.take(rng.randint(40, 400))
    while True:
        yield Request(tokens=tokens, generated=fresh.take(rng.randint(10, 60)))
        tokens = tokens[:-1] + fresh.take(rng.randint(20, 120))


def mixed(rng: random.Random, fresh: Fresh) -> Iterator[Request]:
    """Yield prompts of very different lengths that share nothing."""
    while True:
        yield Request(tokens=fresh.take(round(10 ** rng.uniform(2, 3.9))), generated=fresh.take(rng.randint(2, 40)))


USES: tuple[Callable[[random.Random, Fresh], Iterator[Request]], ...] = (unrelated, tools, chat, mixed)


@lru_cache(maxsize=64)
def server(number: int) -> SimulatedServer:
    """Return server `number`: every model with every use, the releases in turn."""
    rng = random.Random(number)
    shape = read_shape(MODELS[number % len(MODELS)])
    release = RELEASES[number % len(RELEASES)]
    policy = expected_policy(Policy() if release == "main" else Policy.ollama(release))
    stream = USES[number // len(MODELS) % len(USES)](rng, Fresh())
    requests = tuple(next(stream) for _ in range(BEFORE + WINDOW))
    recording = Twin(shape, policy).run(Workload("server", requests), policy, progress=False)
    rows = recording.requests.select("tokens", "matched", "generated").iter_rows()
    holds = reported_bytes(recording)
    return SimulatedServer(
        shape, policy, tuple(Counts(*row) for row in rows), np.array([holds[number + 1] for number in range(len(requests))], dtype=np.float64)
    )
