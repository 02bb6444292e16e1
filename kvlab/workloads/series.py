"""Three minimal series on one model, which show whether growth follows context, number of requests or concurrency.

Requests of a series are alike: short questions that share nothing. The label names what is varied.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from kvlab.workloads.prompts import CHAT_TURNS, question
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

SERVICE_S = 2.0
"""Seconds that a request is taken to be served: only the order follows from it."""


def by_context(each: int = 10) -> tuple[Request, ...]:
    """Return `each` requests a context length. A prefix cache allocates by tokens: the length is only a label here, and a probe requests it."""
    labels = [f"context {context} (no rule reads it), request {number + 1}" for context in CONTEXTS for number in range(each)]
    return tuple(_question(place, label) for place, label in enumerate(labels))


def by_requests() -> tuple[Request, ...]:
    """Return 5, then 10, then 20 requests."""
    labels = [f"{count} requests, request {number + 1}" for count in COUNTS for number in range(count)]
    return tuple(_question(place, label) for place, label in enumerate(labels))


def by_concurrency() -> tuple[Request, ...]:
    """Return four conversations one after another, then four at once: their turns come in order of arrival."""
    alone = [turn for user in range(USERS) for turn in _conversation(user, "1 at once")]
    return (*alone, *_serialised([_conversation(USERS + user, f"{USERS} at once") for user in range(USERS)]))


def _serialised(users: Sequence[Sequence[Request]], service_s: float = SERVICE_S) -> tuple[Request, ...]:
    """Return the requests of all users in the order in which one runner serves them.

    Each user sends the next request `think_s` after the last reply; the runner serves one request at a time, first come first served, and
    requests of the same moment in the users' order.
    """
    arrivals = [(user[0].think_s, place, 0) for place, user in enumerate(users) if user]
    heapq.heapify(arrivals)
    served: list[Request] = []
    free_at = 0.0
    while arrivals:
        arrival, place, turn = heapq.heappop(arrivals)
        served.append(users[place][turn])
        free_at = max(free_at, arrival) + service_s
        if turn + 1 < len(users[place]):
            heapq.heappush(arrivals, (free_at + users[place][turn + 1].think_s, place, turn + 1))
    return tuple(served)


def _question(place: int, label: str) -> Request:
    return Request(label=label, messages=(("user", question(place)),), max_new=NEW_TOKENS, ignore_stop=True, think_s=1.0)


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
