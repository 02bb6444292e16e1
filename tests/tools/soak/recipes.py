"""Recipes: short requests with which a trial may begin, so that what chance meets rarely is met in every soak. Random ones follow.

They are triggers of the fault catalogue in letters; each letter becomes a token, different ones different tokens. Every version gets them:
what brings a defect out of one must not bring anything out of another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from kvlab.workloads.request import MediaItem
from tests.tools.soak.action import Action


@dataclass(frozen=True, slots=True)
class Recipe:
    """Requests as (prompt, reply) in letters, and the choices that they need.

    Attributes:
        requests: The requests. A run of `#` in a prompt is a media item.
        choices: Choices of the policy.
    """

    requests: tuple[tuple[str, str], ...]
    choices: dict[str, Any]

    def actions(self, rng: random.Random) -> list[Action]:
        """Return its requests with random tokens."""
        letters = sorted({letter for prompt, reply in self.requests for letter in prompt + reply})
        token = dict(zip(letters, rng.sample(range(1, 100), len(letters)), strict=True))
        return [Action(tuple(token[one] for one in prompt), tuple(token[one] for one in reply), media=_items(prompt)) for prompt, reply in self.requests]


_ROOMY = {"budget_bytes": 10**9, "capture_grid": 1000}

RECIPES: tuple[Recipe, ...] = (
    # resumed partway, then attached to a node that is there (F-15), or grown in place and restored (F-16, F-09)
    Recipe((("a", "b"), ("abbc", ""), ("d", ""), ("abbce", "")), _ROOMY | {"capture_before_end": 2}),
    Recipe((("a", "b"), ("abbc", ""), ("d", ""), ("abb", "")), _ROOMY | {"capture_before_end": 2}),
    # the same behind more tokens than a window holds
    Recipe((("pqrstuva", "b"), ("pqrstuvabbc", ""), ("d", ""), ("pqrstuvabb", "")), _ROOMY | {"capture_before_end": 2}),
    # the same prompt with less of the same reply, then another (F-13)
    Recipe((("abc", "def"), ("ghi", ""), ("abc", "de"), ("jkl", ""), ("abcdmn", "")), _ROOMY | {"capture_before_end": 1}),
    # resumed partway into a node that eviction takes (F-12), past a window and within it
    Recipe((("abcde", "fg"), ("hijk", "lm"), ("anopq", ""), ("rst", ""), ("anopu", "")), {"capture_before_end": 1, "budget_bytes": 8}),
    Recipe((("abcdeb", ""), ("afag", ""), ("h", "")), {"capture_before_end": 4, "capture_grid": 3, "budget_bytes": 4}),
    # a capture inside a media item (F-22); older versions take no media
    Recipe((("ab####c", "d"), ("ab####e", "")), {"capture_before_end": 3}),
)
"""Every recipe."""


def recipe(turn: int, *, with_media: bool) -> Recipe:
    """Return the recipes in turn, one with media only with `with_media`."""
    usable = [one for one in RECIPES if with_media or not any("#" in prompt for prompt, _ in one.requests)]
    return usable[turn % len(usable)]


def _items(prompt: str) -> tuple[MediaItem, ...]:
    start = prompt.find("#")
    return (MediaItem(start, prompt.rfind("#") + 1, 2**31 + 5),) if start >= 0 else ()
