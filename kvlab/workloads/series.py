"""Three minimal series on one model, to tell which of context, number of requests and concurrency growth follows.

Requests of a series are alike: short questions that share nothing. What is varied stands in the label.
"""

from __future__ import annotations

from kvlab.workloads.arrivals import serialised
from kvlab.workloads.questions import CHAT_TURNS, QUESTIONS
from kvlab.workloads.request import Follow, Request

CONTEXTS = (8192, 32768, 65536)
"""The context lengths that the labels of the first series name, in tokens."""

COUNTS = (5, 10, 20)
"""Requests of each block of the second series."""

USERS = 4
"""Conversations at a time in the third series."""

TURNS = 4
"""Turns of each conversation."""

NEW_TOKENS = 12
"""Tokens of every reply."""


def by_context(each: int = 10) -> tuple[Request, ...]:
    """Return `each` requests a context length. A prefix cache allocates by tokens: the length is a label here, which says so, and a probe requests it."""
    labels = [f"context {context} (no rule reads it), request {number + 1}" for context in CONTEXTS for number in range(each)]
    return tuple(_question(place, label) for place, label in enumerate(labels))


def by_requests() -> tuple[Request, ...]:
    """Return 5, then 10, then 20 requests."""
    labels = [f"{count} requests, request {number + 1}" for count in COUNTS for number in range(count)]
    return tuple(_question(place, label) for place, label in enumerate(labels))


def by_concurrency() -> tuple[Request, ...]:
    """Return four conversations one after another, then four at once: their turns come in order of arrival."""
    alone = [turn for user in range(USERS) for turn in _conversation(user, "1 at once")]
    return (*alone, *serialised([_conversation(USERS + user, f"{USERS} at once") for user in range(USERS)]))


def _question(place: int, label: str) -> Request:
    turn, index = divmod(place, len(QUESTIONS))
    asked = f"(Round {turn + 1}.) {QUESTIONS[index]}" if turn else QUESTIONS[index]
    return Request(label=label, messages=(("user", asked),), max_new=NEW_TOKENS, ignore_stop=True, think_s=1.0)


def _conversation(user: int, label: str) -> list[Request]:
    return [
        Request(
            label=f"{label}, user {user + 1}, turn {turn + 1}",
            messages=(("user", CHAT_TURNS[turn] if turn else f"User {chr(ord('A') + user)}: {CHAT_TURNS[0]}"),),
            max_new=NEW_TOKENS,
            ignore_stop=True,
            chat=f"{label} {user}",
            follow=Follow() if turn else None,
            think_s=3.0,
        )
        for turn in range(TURNS)
    ]


SERIES = {"context": by_context, "requests": by_requests, "concurrency": by_concurrency}
"""The series by name."""
