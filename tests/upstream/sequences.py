"""Random sequences of requests, made again from their number: a policy, a layer mix, and prompts that share, branch, are edited, repeat and are cancelled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

MIXES = ("kv", "recurrent+kv", "kv+recurrent", "kv+rotating", "rotating+kv")
"""Kinds in layer order."""

DRAFTED = ("kv+draft_kv", "recurrent+kv+draft_kv", "kv+recurrent+draft_kv", "kv+rotating+draft_kv")
"""Mixes with a draft layer, whose keys look one token ahead."""

HIDDEN = ("kv+hidden", "hidden", "recurrent+kv+hidden", "hidden+rotating+kv", "kv+hidden+recurrent", "kv+hidden+draft_kv")
"""Mixes with a hidden-state cache; in those without a draft layer, requests also score."""

NO_LIMIT = 10**9
LONG = 24
"""One sequence in 25 has prompts so many times as long, beyond the 256 tokens by which live buffers grow."""


class _Draws:
    # only `random` is drawn from: its values for a seed are promised to stay
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, part: float) -> bool:
        return self._random() < part

    def between(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def one_of(self, values: Sequence[T]) -> T:
        return values[self.between(0, len(values) - 1)]

    def tokens(self, low: int, high: int, most: int) -> list[int]:
        return [self.between(1, most) for _ in range(self.between(low, high))]


def sequence(number: int, version: str, *, drafted: bool = False, hidden: bool = False) -> dict[str, Any]:
    """Return sequence `number` as a case (`tests/cases`) under the rules of `version`; every version has the same sequences."""
    draw = _Draws(2 * number + drafted)
    mixes = HIDDEN if hidden else DRAFTED if drafted else MIXES
    scale = LONG if draw.chance(0.04) else 1
    policy = {
        "version": version,
        "budget_bytes": draw.one_of((NO_LIMIT, 60, 20, 8)) * scale,
        "capture_grid": draw.one_of((4, 8, 16)) * scale,
        "capture_before_end": draw.one_of((1, 2, 4)),
        "prefill_chunk": draw.one_of((2048, 5, 8, 16)) * (8 if scale == LONG else 1),
    }
    layers = _layers(mixes[number % len(mixes)].split("+"), draw.one_of((4, 8)))
    workload = _workload(draw, scale)
    if hidden and "draft_kv" not in layers:
        workload = [_scored(draw, row) if draw.chance(0.5) else row for row in workload]
    return {"id": f"{version} {number}", "layers": layers, "policy": policy, "workload": workload}


def _layers(kinds: Sequence[str], window: int) -> dict[str, int]:
    drafts = kinds.count("draft_kv")
    layers = dict.fromkeys(kinds, 1) | {"kv_bytes_per_token": 1 + drafts, "whole_state_bytes": 10, "look_ahead": drafts}
    if "hidden" in kinds:
        layers |= {"hidden_bytes_per_token": 1}
    return layers | ({"window": window, "rotating_bytes_per_token": 1, "whole_state_bytes": window} if "rotating" in kinds else {})


def _workload(draw: _Draws, scale: int) -> list[dict[str, Any]]:
    stems = [draw.tokens(6 * scale, 24 * scale, 40) for _ in range(3)]
    prompts: list[list[int]] = []
    streams: list[list[int]] = []
    rows: list[dict[str, Any]] = []
    for _ in range(40 if draw.chance(0.02) else draw.between(6, 12)):
        tokens = _prompt(draw, stems, streams, prompts)[: 60 * scale]
        row: dict[str, Any] = {"tokens": tokens, "generated": draw.tokens(0, 6, 4)}
        if len(tokens) > 1 and draw.chance(0.15):
            row |= {"generated": [], "cancel_after_tokens": draw.between(1, len(tokens) - 1)}
        rows.append(row)
        prompts.append(tokens)
        streams.append(tokens + row["generated"])
    return rows


def _scored(draw: _Draws, row: dict[str, Any]) -> dict[str, Any]:
    return row | {"generated": [], "score": True, "score_shared": draw.between(0, len(row["tokens"]) - 1)}


def _prompt(draw: _Draws, stems: list[list[int]], streams: list[list[int]], prompts: list[list[int]]) -> list[int]:
    kind = draw.between(0, 9) if prompts else 9
    if kind < 3:
        return draw.one_of(streams) + draw.tokens(1, 6, 4)
    if kind < 5:
        edited = draw.one_of(streams)
        return edited[: draw.between(1, len(edited))] + draw.tokens(1, 8, 4)
    if kind == 5:
        return list(draw.one_of(prompts))
    if kind == 6:
        return draw.tokens(1, 6, 40)
    stem = draw.one_of(stems)
    return stem[: draw.between(1, len(stem))] + draw.tokens(1, 8, 6)
