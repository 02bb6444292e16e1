"""Shrinking: fewer and shorter requests that still fail, by leaving out halves, then quarters, down to single ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from tests.tools.soak.ask import Ask

Fails = Callable[[Sequence[Ask]], bool]
"""Whether a sequence of asks still fails in the same way."""


def shrunk(asks: Sequence[Ask], fails: Fails) -> list[Ask]:
    """Return a shorter sequence that still fails: no single ask, and no half of a prompt's or a reply's end, can be left out of it.

    When `asks` do not fail they come back as they are.
    """
    found = list(asks)
    if not fails(found):
        return found
    while True:
        before = found
        found = _shortened(_fewer(found, fails), fails)
        if found == before:
            return found


def _fewer(asks: list[Ask], fails: Fails) -> list[Ask]:
    size = len(asks) // 2
    while size:
        at = 0
        while at < len(asks):
            rest = asks[:at] + asks[at + size :]
            if rest and fails(rest):
                asks = rest
            else:
                at += size
        size //= 2
    return asks


def _shortened(asks: list[Ask], fails: Fails) -> list[Ask]:
    for place in range(len(asks)):
        changed = True
        while changed:
            changed = False
            for simpler in _simpler(asks[place]):
                tried = [*asks[:place], simpler, *asks[place + 1 :]]
                if fails(tried):
                    asks, changed = tried, True
                    break
    return asks


def _simpler(ask: Ask) -> Iterator[Ask]:
    if (ask.cancel_prefill, ask.cancel_decode, ask.leave_after) != (None, None, None):
        yield dataclasses.replace(ask, cancel_prefill=None, cancel_decode=None, leave_after=None)
    for name in ("reply", "tokens"):
        whole = getattr(ask, name)
        cut = len(whole) // 2
        while cut:
            kept = whole[: len(whole) - cut]
            if kept or name == "reply":
                yield dataclasses.replace(ask, **{name: kept}, media=tuple(item for item in ask.media if name == "reply" or item.end <= len(kept)))
            cut //= 2
    if len(ask.reply) == 1:
        yield dataclasses.replace(ask, reply=())
    if ask.media:
        yield dataclasses.replace(ask, media=())
