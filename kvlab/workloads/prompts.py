"""The prompts of the named workloads, read from `data/prompts.toml`: our own sentences."""

from __future__ import annotations

import tomllib
from typing import Any

from kvlab import shipped

_PROMPTS: dict[str, Any] = tomllib.loads(shipped.data("prompts.toml").read_text(encoding="utf-8"))

QUESTIONS: tuple[str, ...] = tuple(_PROMPTS["questions"])
"""Short questions that have nothing to do with each other, in the order in which workloads send them."""

CHAT_TURNS: tuple[str, ...] = tuple(_PROMPTS["chat_turns"])
"""What a user says turn by turn in a chat about one subject."""

SHARED_BEGINNING: str = _PROMPTS["shared_beginning"]
"""What all requests of `branches` begin with."""

BRANCHES: tuple[str, ...] = tuple(_PROMPTS["branches"])
"""Different questions after the same beginning."""


def question(place: int, texts: tuple[str, ...] = QUESTIONS) -> str:
    """Return text `place`; past the last one they come again, each beginning with its round so that none is repeated."""
    turn, index = divmod(place, len(texts))
    return f"(Round {turn + 1}.) {texts[index]}" if turn else texts[index]
