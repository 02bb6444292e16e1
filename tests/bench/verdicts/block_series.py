"""Series of the model that knows nothing of kvlab's rules, as a recording of what was read: judged as a user's, restarts found and all."""

from __future__ import annotations

import dataclasses
import random

import numpy as np

from kvlab.events import Event, Matched, Observed, RequestBegan, RequestClosed, RunnerChanged
from kvlab.findings.budget_or_leak import budget_or_leak
from kvlab.findings.facts import facts
from kvlab.findings.finding import Finding
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.manifest import Manifest
from kvlab.units import GIB, MIB
from tests.bench.verdicts.block_server import Served, served
from tests.bench.verdicts.series import NOISE, STEPS, leak_of, read_of

MODELS = ("llama3.1-8b", "llama3.2-3b", "qwen3-4b", "qwen3-8b", "qwen3-30b-a3b")
"""Shapes that keep keys and values only, as blocks of tokens do."""

BUDGETS = (2 * GIB, 4 * GIB, 8 * GIB)
ARENAS = (4 * MIB, 64 * MIB)
"""Arenas of heaps: small as mimalloc's segments, and as large as glibc's; the seeds have them in turn."""


def blocks(seed: int, *, leaking: bool, gauge: str = "size") -> tuple[float, Finding]:
    """Return the leak of one series in bytes per request, and the finding on it: on the size the server counts, or on its process's footprint."""
    rng = random.Random(seed)
    shape, policy = read_shape(rng.choice(MODELS)), Policy(budget_bytes=rng.choice(BUDGETS))
    leak = leak_of(rng) if leaking else 0.0
    arena = ARENAS[seed // 2 % len(ARENAS)]
    one = served(rng, weights=shape.weights_bytes, token_bytes=shape.bytes_per_token, budget=policy.budget_bytes, arena=arena, leak=round(leak))
    manifest = dataclasses.replace(Manifest.now(model=shape.name, source="table", policy=policy), shape=shape.to_dict())
    return leak, budget_or_leak(facts(Recording.of(manifest, _events(one, gauge, rng))))


def _events(one: Served, gauge: str, rng: random.Random) -> list[Event]:
    step, noise, late = rng.choice(STEPS), rng.choice(NOISE), rng.choice([0.0, 0.0, 0.2, 1.0])
    held = np.array([row.counted if gauge == "size" else row.taken for row in one.rows], dtype=np.float64)
    shown = np.concatenate([read_of(part, rng, step, noise, late) for part in np.split(held, [one.restarted] if one.restarted else [])])
    named = rng.random() < 0.5
    events: list[Event] = []
    for number, (row, figure) in enumerate(zip(one.rows, shown, strict=True), start=1):
        new = [
            RequestBegan(tokens=row.tokens),
            Matched(tokens=row.tokens, matched=row.matched, cached=row.matched, left=row.tokens - row.matched),
            RequestClosed(generated=row.generated),
            Observed(gauge=gauge, observed=round(figure), step=step),
        ]
        # half of the restarts are in the log, the others show in the figures only
        new += [RunnerChanged(state="unloaded")] if named and number == one.restarted else []
        for event in new:
            event.seq, event.request, event.source = len(events), number, "table"
            events.append(event)
    return events
