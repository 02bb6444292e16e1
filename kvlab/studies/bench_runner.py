"""What the instruments cost: 512 prompt tokens and 64 new ones, every instrument on, compared with mlx-lm's own generation.

Both sides run the same net with the same prefill chunk from an empty cache, in turn, after one unmeasured round each; the
median of the rounds counts. kvlab's side is a whole `Lab.run`: trie, events, ledger, the twin that predicts it, a recording on disk.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue
from kvlab.recording import computer
from kvlab.views import text_table
from kvlab.workloads import Request, Workload
from kvlab.workloads.prompts import QUESTIONS

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab
    from kvlab.models.loaded import Loaded

Say = Callable[[str], object]
"""Takes a line of progress as soon as there is one."""

PROMPT_TOKENS = 512
NEW_TOKENS = 64
BAR = 0.95
"""The share of mlx-lm's speed below which the bench fails."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One side's seconds: of each round, and its median's tokens (prompt and new) per second."""

    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The median of the rounds, in seconds."""
        return statistics.median(self.seconds)

    @property
    def tokens_per_s(self) -> float:
        """Prompt and new tokens per second."""
        return (PROMPT_TOKENS + NEW_TOKENS) / self.median_s


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured: both sides, their ratio, and on what machine."""

    kvlab: Speed
    mlx_lm: Speed
    model: str
    prefill_chunk: int
    machine: dict[str, Any]

    @property
    def ratio(self) -> float:
        """The speed of kvlab as a share of that of mlx-lm."""
        return self.mlx_lm.median_s / self.kvlab.median_s

    @property
    def is_fast_enough(self) -> bool:
        """Whether the ratio is at or above `BAR`."""
        return self.ratio >= BAR

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON holds it."""
        return {
            "bench": "runner",
            "model": self.model,
            "prompt_tokens": PROMPT_TOKENS,
            "new_tokens": NEW_TOKENS,
            "prefill_chunk": self.prefill_chunk,
            "kvlab_s": list(self.kvlab.seconds),
            "mlx_lm_s": list(self.mlx_lm.seconds),
            "kvlab_median_s": self.kvlab.median_s,
            "mlx_lm_median_s": self.mlx_lm.median_s,
            "ratio": self.ratio,
            "bar": BAR,
            "passed": self.is_fast_enough,
            "machine": self.machine,
        }

    def __str__(self) -> str:
        sides = (("kvlab, instruments on", self.kvlab), ("mlx_lm.stream_generate", self.mlx_lm))
        rows = [(name, f"{speed.median_s:.2f}", f"{speed.tokens_per_s:.1f}") for name, speed in sides]
        lines = [
            f"{PROMPT_TOKENS} prompt + {NEW_TOKENS} new tokens, {self.model}, prefill chunk {self.prefill_chunk}, median of {len(self.kvlab.seconds)}",
            text_table.columns(("", "seconds", "tokens/s"), rows),
            f"ratio {self.ratio:.3f} ({'at or above' if self.is_fast_enough else 'BELOW'} the bar of {BAR})",
            machine_words(self.machine),
        ]
        return "\n".join(lines)


def quiet(line: str) -> None:
    """Drop a line of progress."""
    del line


def require_rounds(rounds: int, usual: int) -> None:
    """Check that a bench measures something.

    Raises:
        BadValue: `rounds` is below 1.
    """
    if rounds < 1:
        raise BadValue(what=f"--rounds {rounds} measures nothing", why="each side runs at least once", hint=f"use {usual}")


def machine_words(machine: Mapping[str, object]) -> str:
    """Return the facts of a machine as one line."""
    return "machine: " + ", ".join(f"{name} {value}" for name, value in machine.items())


def measure(model: str = "smollm2", rounds: int = 5, say: Say = quiet) -> Bench:
    """Measure both sides in turn.

    Raises:
        BadValue: `rounds` is below 1, or the model is unknown.
    """
    require_rounds(rounds, 5)
    loaded, lab = _open(model)
    tokens = _prompt(loaded)
    ours = _Ours(lab, tokens)
    theirs = _Theirs(loaded, tokens, lab.policy.prefill_chunk)
    for side in (ours, theirs):
        side()
    seconds: tuple[list[float], list[float]] = ([], [])
    sides = list(zip(seconds, (ours, theirs), strict=True))
    for number in range(rounds):
        # each side goes first every other round, so that neither always finds the other's warmth
        for taken, side in sides if number % 2 == 0 else sides[::-1]:
            taken.append(_seconds(side))
        say(f"round {number + 1}: kvlab {seconds[0][-1]:.2f} s, mlx_lm {seconds[1][-1]:.2f} s")
    return Bench(Speed(tuple(seconds[0])), Speed(tuple(seconds[1])), model, lab.policy.prefill_chunk, _machine(lab))


class _Ours:
    def __init__(self, lab: Lab, tokens: tuple[int, ...]) -> None:
        self._lab = lab
        self._workload = Workload(name="bench", requests=(Request(label="bench", tokens=tokens, max_new=NEW_TOKENS, ignore_stop=True),))

    def __call__(self) -> None:
        self._lab.run(self._workload, progress=False)


class _Theirs:
    def __init__(self, loaded: Loaded, tokens: tuple[int, ...], chunk: int) -> None:
        # The peer is measured, not used: by name, so that no floor depends on it.
        self._generate: Any = importlib.import_module("mlx_lm").stream_generate
        self._loaded = loaded
        self._tokens = list(tokens)
        self._chunk = chunk

    def __call__(self) -> None:
        wrapper: Any = self._loaded.tokenizer.wrapper
        stops = wrapper.eos_token_ids
        wrapper.eos_token_ids = None
        try:
            for _ in self._generate(self._loaded.net, wrapper, self._tokens, max_tokens=NEW_TOKENS, prefill_step_size=self._chunk):
                pass
        finally:
            wrapper.eos_token_ids = stops


def _open(model: str) -> tuple[Loaded, Lab]:
    from kvlab.lab.lab import Lab, default_policy
    from kvlab.models.mlx_model import MLXModel
    from kvlab.models.open import load_net

    loaded = load_net(model)
    wrapped = MLXModel(model, loaded.net, loaded.tokenizer, context=loaded.context, origin=loaded.origin)
    policy = default_policy(wrapped.origin.get("device", ""))
    return loaded, Lab(wrapped, policy)


def _prompt(loaded: Loaded) -> tuple[int, ...]:
    tokens = loaded.tokenizer.wrapper.encode(" ".join(QUESTIONS))
    return tuple(int(token) for token in tokens[:PROMPT_TOKENS])


def _seconds(side: Callable[[], None]) -> float:
    begun = time.perf_counter()
    side()
    return time.perf_counter() - begun


def _machine(lab: Lab) -> dict[str, Any]:
    from kvlab.models import blas, precision

    return computer.facts() | {"device": precision.device(), "blas": blas.route().used, "weights_bytes": lab.shape.weights_bytes}
