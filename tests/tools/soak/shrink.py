"""Shrinking: fewer and shorter requests that still fail, by leaving out halves, then quarters, down to single ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from tests.tools.soak.action import Action

Fails = Callable[[Sequence[Action]], bool]
"""Whether a sequence of actions still fails in the same way."""


def shrunk(actions: Sequence[Action], fails: Fails) -> list[Action]:
    """Return a shorter sequence that still fails: no single action, and no half of a prompt's or a reply's end, can be left out of it.

    When `actions` do not fail they come back as they are.
    """
    found = list(actions)
    if not fails(found):
        return found
    while True:
        before = found
        found = _shortened(_fewer(found, fails), fails)
        if found == before:
            return found


def _fewer(actions: list[Action], fails: Fails) -> list[Action]:
    size = len(actions) // 2
    while size:
        at = 0
        while at < len(actions):
            rest = actions[:at] + actions[at + size :]
            if rest and fails(rest):
                actions = rest
            else:
                at += size
        size //= 2
    return actions


def _shortened(actions: list[Action], fails: Fails) -> list[Action]:
    for place in range(len(actions)):
        changed = True
        while changed:
            changed = False
            for simpler in _simpler(actions[place]):
                tried = [*actions[:place], simpler, *actions[place + 1 :]]
                if fails(tried):
                    actions, changed = tried, True
                    break
    return actions


def _simpler(action: Action) -> Iterator[Action]:
    if (action.cancel_prefill, action.cancel_decode, action.leave_after) != (None, None, None):
        yield dataclasses.replace(action, cancel_prefill=None, cancel_decode=None, leave_after=None)
    for name in ("reply", "tokens"):
        whole = getattr(action, name)
        cut = len(whole) // 2
        while cut:
            kept = whole[: len(whole) - cut]
            if kept or name == "reply":
                yield dataclasses.replace(action, **{name: kept}, media=tuple(item for item in action.media if name == "reply" or item.end <= len(kept)))
            cut //= 2
    if len(action.reply) == 1:
        yield dataclasses.replace(action, reply=())
    if action.media:
        yield dataclasses.replace(action, media=())
