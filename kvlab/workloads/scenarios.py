"""Named workloads: what people try when they suspect that their server grows.

Every scenario is text, so it runs on a real model through its chat template and on the twin through `text_tokens`.
Invariant: a scenario of n requests is the beginning of the scenario of n + 1, under another name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from kvlab.errors import BadValue, require_type
from kvlab.workloads.case_rows import MOST_REQUESTS
from kvlab.workloads.prompts import BRANCHES, CHAT_TURNS, QUESTIONS, SHARED_BEGINNING, question
from kvlab.workloads.request import Follow, MediaItem, Request
from kvlab.workloads.streams import Fresh, NamedStreams
from kvlab.workloads.workload import OnAccess, Workload

NEW_TOKENS = 24
"""`max_new` of a scenario's requests by default."""


MOST_TURNS = 50_000
"""Turns of a conversation at most: their last prompt has more than a million tokens."""

PICTURE = 256
"""Tokens of a picture."""

_BEFORE, _QUESTION = 1200, 40
_FOLD = 2**31


def unrelated(count: int = 15, max_new: int = NEW_TOKENS) -> Workload:
    """Return `count` short questions that have nothing to do with each other; only the chat template's beginning is shared.

    Example:
        >>> import kvlab
        >>> len(kvlab.workloads.unrelated(3))
        3
    """
    return _workload("unrelated", count, "budget_or_leak", lambda place: _single(f"question {place + 1}", max_new, question(place)))


def repeat(count: int = 5, max_new: int = NEW_TOKENS) -> Workload:
    """Return the same question `count` times.

    Example:
        >>> import kvlab
        >>> len(kvlab.workloads.repeat(2))
        2
    """
    return _workload("repeat", count, "why_not_reused", lambda place: _single(f"time {place + 1}", max_new, QUESTIONS[0]))


def chat(count: int = 8, max_new: int = NEW_TOKENS) -> Workload:
    """Return one conversation of `count` turns: each prompt is the one before, the reply, and one more question.

    Raises:
        BadValue: it has no turn, or more than `MOST_TURNS`.

    Example:
        >>> import kvlab
        >>> len(kvlab.workloads.chat(4))
        4
    """
    require_type("count", count, int, "a whole number")
    if count > MOST_TURNS:
        raise BadValue(
            what=f"chat:{count} is one conversation of {count:,} turns",
            why=f"a conversation has at most {MOST_TURNS:,} turns: every turn's prompt holds all before it, and no model holds so many",
            hint=f"use fewer turns, or requests that do not continue each other: unrelated:{count}",
        )

    def turn(place: int) -> Request:
        return dataclasses.replace(_single(f"turn {place + 1}", max_new, question(place, CHAT_TURNS)), chat="chat", follow=Follow() if place else None)

    return _workload("chat", count, "budget_or_leak", turn)


def branches(count: int = 8, max_new: int = NEW_TOKENS) -> Workload:
    """Return `count` different questions after the same long beginning.

    Example:
        >>> import kvlab
        >>> len(kvlab.workloads.branches(2))
        2
    """

    def branch(place: int) -> Request:
        return _single(f"branch {place + 1}", max_new, question(place, BRANCHES), system=SHARED_BEGINNING)

    return _workload("branches", count, "why_not_reused", branch)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named workload: how to build it for a count, the count when none is given, and what it is in one line."""

    build: Callable[[int], Workload]
    usual: int
    about: str


SCENARIOS: dict[str, Scenario] = {
    "unrelated": Scenario(unrelated, 15, "short questions that share nothing but the template"),
    "repeat": Scenario(repeat, 5, "the same question again and again"),
    "chat": Scenario(chat, 8, "one conversation, each turn going on from the last"),
    "branches": Scenario(branches, 8, "different questions after the same long beginning"),
}
"""The scenarios by name."""


def media_requests(scale: float = 1.0) -> tuple[Request, ...]:
    """Return six prompts behind one beginning: a picture with a question of two tokens, the same with two longer ones, another picture with a question,
    a third one with none and no reply, and the same with a question.

    The first prompt ends so close to its picture that a capture falls inside it, the fifth ends with its picture, so that a match does. What
    comes before a picture is longer than the window of the models this is for, so a sliding-window layer resumes only at a checkpoint.
    """
    streams, fresh = NamedStreams(), Fresh()
    before = streams.first("before", max(_QUESTION, round(_BEFORE * scale)))

    def sent(number: int, picture: int, question: int) -> Request:
        tokens = (*before, *fresh.take(PICTURE), *fresh.take(question))
        item = MediaItem(start=len(before), end=len(before) + PICTURE, fold=_FOLD + picture)
        label = f"picture {picture}, question {number}" if question else f"picture {picture} alone"
        return Request(label=label, tokens=tokens, media=(item,), max_new=12 if question else 0, ignore_stop=True, think_s=2.0)

    return (sent(1, 1, 2), sent(2, 1, _QUESTION), sent(3, 1, _QUESTION), sent(4, 2, _QUESTION), sent(5, 3, 0), sent(6, 3, _QUESTION))


def _single(label: str, max_new: int, user: str, system: str = "") -> Request:
    messages = (("system", system), ("user", user)) if system else (("user", user),)
    return Request(label=label, messages=messages, max_new=max_new)


def _workload(name: str, count: int, about: str, request: Callable[[int], Request]) -> Workload:
    """Return a scenario's workload; `request` makes each request from its place."""
    usual = SCENARIOS[name].usual
    require_type("count", count, int, "a whole number")
    if count < 1:
        raise BadValue(what=f"{name}:{count} has {count} requests", why="a workload has at least one", hint=f"write for example {name}:{usual}")
    require_count(name, str(count), usual)
    return Workload(name=f"{name}:{count}", requests=OnAccess(count, request), question=about)


def require_count(name: str, given: str, usual: int) -> int:
    """Return the number of requests that a workload's name gives, digits only, such as `15` of `unrelated:15`.

    Raises:
        BadValue: it is more than `MOST_REQUESTS`.
    """
    digits = given.lstrip("0") or "0"
    # compared by its length first: Python refuses to read a number of thousands of digits
    if len(digits) > len(str(MOST_REQUESTS)) or int(digits) > MOST_REQUESTS:
        raise BadValue(
            what=f"{name}:{digits if len(digits) < 40 else digits[:37] + '...'} has too many requests",
            why=f"a workload has at most {MOST_REQUESTS:,}",
            hint=f"write for example {name}:{usual}",
        )
    return int(digits)
