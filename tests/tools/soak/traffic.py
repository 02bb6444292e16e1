"""Traffic: random requests that repeat, go on from, fall short of and diverge from earlier ones, and are cut short. Each has a theme: what it does most.

Few different tokens are used, so that prompts agree by chance too. The same random numbers give the same requests; no engine runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvlab.workloads.request import MediaItem
from tests.tools.soak.action import Action

TOKENS = 7
"""Different tokens."""

LONGEST = 56
"""Tokens of a prompt at most."""

REMEMBERED = 5
"""Earlier requests that new ones are made from."""

_FOLDS = (2**31 + 5, 2**31 + 6)
_WAYS = ("new", "same", "same_reply_shorter", "goes_on", "last_goes_on", "diverges", "shorter")
_THEMES = {
    "mixed": (5, 2, 2, 4, 5, 5, 2),
    "branching": (5, 1, 0, 1, 0, 12, 1),
    "regenerating": (4, 2, 8, 5, 0, 3, 0),
    "talking": (1, 1, 1, 2, 8, 2, 0),
    "returning": (),
}


@dataclass(frozen=True, slots=True)
class _Prompt:
    tokens: tuple[int, ...]
    reply: tuple[int, ...]
    media: tuple[MediaItem, ...]
    ends: tuple[int, ...] = ()


class Traffic:
    """An endless stream of actions.

    Args:
        rng: Where chance comes from.
        with_media: Some prompts hold media items.
    """

    def __init__(self, rng: random.Random, *, with_media: bool) -> None:
        self._rng = rng
        self._with_media = with_media
        self._weights = rng.choice(tuple(_THEMES.values()))
        self._earlier: list[_Prompt] = []
        self._turn = 0
        self._count = 0

    def take(self, count: int) -> list[Action]:
        """Return the next `count` actions."""
        return [action for action, _ in zip(self, range(count), strict=False)]

    def __iter__(self) -> Iterator[Action]:
        while True:
            yield self._next()

    def _next(self) -> Action:
        drawn = self._prompt()
        self._earlier = [*self._earlier[1 - REMEMBERED :], drawn]
        chance, tokens = self._rng.random() * (1 if self._weights else 4), len(drawn.tokens)
        self._count += 1
        action = Action(drawn.tokens, drawn.reply, media=drawn.media, ends=drawn.ends, idle_before=self._count % 3 == 0)
        if chance < 0.12:
            return replace(action, cancel_prefill=self._rng.randint(1, tokens))
        if chance < 0.20 and drawn.reply:
            return replace(action, cancel_decode=self._rng.randint(1, len(drawn.reply)))
        if chance < 0.24:
            return replace(action, leave_after=self._rng.randint(1, 3))
        return action

    def _prompt(self) -> _Prompt:
        if not self._weights:
            return self._returning()
        rng = self._rng
        way = rng.choices(_WAYS, self._weights)[0] if self._earlier else "new"
        if way == "new":
            return self._grown((), (), ())
        before = self._earlier[-1] if way == "last_goes_on" else rng.choice(self._earlier)
        if way == "same":
            return _Prompt(before.tokens, self._reply(), before.media, before.ends)
        if way == "same_reply_shorter":
            return _Prompt(before.tokens, before.reply[: rng.randint(0, len(before.reply))], before.media, before.ends)
        stream = before.tokens + before.reply
        cut = len(stream) - rng.choice((0, 0, 0, 1, 2)) if way in ("goes_on", "last_goes_on") else rng.randint(1, len(stream))
        if cut > LONGEST - 8:
            cut = rng.randint(1, LONGEST // 2)
        cut = max(1, next((item.start for item in before.media if item.start < cut < item.end), cut))
        media = tuple(item for item in before.media if item.end <= cut)
        ends = tuple(end for end in (*before.ends, len(before.tokens)) if end <= cut)
        if way == "shorter":
            return _Prompt(stream[:cut], self._reply(), media, ends)
        return self._grown(stream[:cut], media, ends)

    def _returning(self) -> _Prompt:
        # short ones in rounds of four: one; on from it, from within it, or the same with less of a reply; another; back to the second
        rng, turn = self._rng, self._turn
        self._turn = (turn + 1) % 4
        if turn in (0, 2) or len(self._earlier) < 2:
            return _Prompt(self._some(rng.randint(1, 7)), self._some(rng.choice((0, 1, 2, 3))), ())
        if turn == 1:
            first, way = self._earlier[-1], rng.randrange(3)
            if way == 0:
                return _Prompt(first.tokens, first.reply[:-1], ())
            kept = len(first.tokens) if way == 1 else rng.randint(1, len(first.tokens))
            return _Prompt(first.tokens[:kept] + self._some(rng.randint(1, 6)), self._some(rng.choice((0, 0, 1))), ())
        second = self._earlier[-2]
        kept = len(second.tokens) - rng.choice((0, 0, 1))
        return _Prompt(second.tokens[: max(1, kept)] + self._some(rng.choice((0, 1, 2))), self._some(rng.choice((0, 0, 1))), ())

    def _grown(self, stem: tuple[int, ...], media: tuple[MediaItem, ...], ends: tuple[int, ...]) -> _Prompt:
        rng = self._rng
        tokens = stem + self._some(rng.randint(1, 8 if stem else 20))
        if self._with_media and rng.random() < 0.5:
            item = MediaItem(len(tokens), len(tokens) + rng.randint(2, 7), rng.choice(_FOLDS))
            tokens += (TOKENS + 1,) * (item.end - item.start) + self._some(rng.randint(1, 6))
            media += (item,)
        return _Prompt(tokens, self._reply(), media, ends)

    def _reply(self) -> tuple[int, ...]:
        return self._some(self._rng.choice((0, 1, 2, 3, 5, 7)))

    def _some(self, count: int) -> tuple[int, ...]:
        return tuple(self._rng.choices(range(1, TOKENS + 1), k=count))
