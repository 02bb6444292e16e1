"""Seeded series of figures as a user has them: a server's bytes by the rules, perhaps a leak on top, and the faults of the reading.

The faults are those of the public reports (data/SOURCES.md): prints in bytes, 0.01 GB or 0.1 GiB, figures one request late, a pool kept
after the load, noise of other buffers, restarts and unloads, and a budget that was full before the series began.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from kvlab.recording.facts import Series, Values
from kvlab.units import GIB
from tests.bench.verdicts.servers import BEFORE, MODELS, USES, WINDOW, SimulatedServer, server

LEAKS = (5e6, 500e6)
"""Bytes per request of the smallest and the largest leak."""

STEPS = (1, 10_000_000, GIB // 10)
NOISE = (0.0, 2e6, 10e6)
"""Standard deviation in bytes of what other buffers add."""

LOAD_POOL = round(2.15 * GIB)
"""The pool of a load that was not cleared, until the first request ends."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series, cut at restarts, with the truth about it: the leak in bytes per request, 0 when there is none."""

    server: SimulatedServer
    parts: tuple[Series, ...]
    leak: float

    @property
    def longest(self) -> Series:
        """The longest part, which is judged."""
        return max(self.parts, key=len)


def sample(seed: int, *, leaking: bool) -> Sample:
    """Return one series."""
    rng = random.Random(seed)
    chosen = server(rng.randrange(len(MODELS) * len(USES)))
    leak = leak_of(rng) if leaking else 0.0
    restart = rng.choice([None, None, None, 15, 40])
    first = BEFORE if restart is None and rng.random() < 0.3 else 0
    lengths = [WINDOW] if restart is None else [restart, WINDOW - restart]
    step, noise, late = rng.choice(STEPS), rng.choice(NOISE), rng.choice([0.0, 0.0, 0.2, 1.0])
    parts: list[Series] = []
    for length in lengths:
        places = slice(first, first + length)
        held = chosen.holds[places] + leak * np.arange(1, length + 1)
        counts = chosen.counts[places]
        parts.append(Series(np.arange(1.0, length + 1), counts, read_of(held, rng, step, noise, late), step, "size"))
    return Sample(chosen, tuple(parts), leak)


def leak_of(rng: random.Random) -> float:
    """Return the bytes per request of a leak."""
    return float(np.exp(rng.uniform(*np.log(LEAKS))))


def read_of(held: Values, rng: random.Random, step: int, noise: float, late: float) -> Values:
    """Return what is read of `held`: with noise, a pool after the load, a share of the figures one request late, printed in steps."""
    shown = held + np.array([abs(rng.gauss(0, noise)) for _ in held])
    before = held[0] + (LOAD_POOL if rng.random() < 0.3 else 0)
    delayed = np.concatenate([[before], shown[:-1]])
    chosen = np.array([rng.random() < late for _ in held])
    return np.floor(np.where(chosen, delayed, shown) / step) * step
