"""Outlook: how fast a cache fills with short requests that share nothing, and at which request its budget is full.

A few requests are run on a twin whose budget never fills. What each adds is the same from the third on, so the rest is a straight line:
the budget is full at the first request during which the line passes it. Tests compare this with twins that run until they evict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from kvlab.events import BytesRead
from kvlab.lab.source import Source
from kvlab.policy import Policy
from kvlab.units import LARGEST
from kvlab.workloads.request import Request
from kvlab.workloads.streams import Fresh

SHARED, UNIQUE, REPLY = 18, 20, 5
"""Tokens of a request: the beginning that a chat template gives all of them, its own, and its reply (the short chats of public issue 17875)."""

WATCHED = 8
"""Requests that are run; what the last `STEADY` of them add is the slope."""

STEADY = 4


@dataclass(frozen=True, slots=True)
class Outlook:
    """What short unrelated requests do to a cache.

    Attributes:
        prompt: Tokens of a request's prompt.
        reply: Tokens of its reply.
        nodes: Nodes a request adds to the trie; a fraction when requests differ.
        growth: Counted bytes a request adds.
        full_at: The request during which the budget is passed for the first time, from 1; None when the cache does not grow.
        budget: The budget in bytes.
        live: Bytes of the live buffers.
    """

    prompt: int
    reply: int
    nodes: float
    growth: int
    full_at: int | None
    budget: int
    live: int


def requests_until_full(room: float, growth: float) -> int | None:
    """Return after how many more requests that add `growth` bytes each a budget with `room` bytes left is full; None when nothing grows.

    A budget is full at the first request whose bytes no longer fit: it is the first one that evicts. All of kvlab counts so, from request 1.
    """
    return math.floor(max(0.0, room) / growth) + 1 if growth > 0 else None


def short_unrelated() -> Iterator[Request]:
    """Yield requests without end: the same beginning, then tokens that no other one has."""
    fresh = Fresh()
    shared = fresh.take(SHARED)
    for number in count(1):
        yield Request(label=f"chat {number}", tokens=(*shared, *fresh.take(UNIQUE)), generated=fresh.take(REPLY))


def outlook(open_twin: Callable[[Policy], Source], policy: Policy) -> Outlook:
    """Return the outlook of a cache under `policy`; `open_twin` opens a twin of its model."""
    twin = open_twin(policy.replace(budget_bytes=LARGEST))
    # what is copied out in a reply is seen by eviction at the close, or in the next request when nothing is paged out at the close
    moments = {"begin", "prefill", "attach"}
    if policy.page_out == "at_close" or "close" in policy.evict_at:
        moments.add("close")
    requests = short_unrelated()
    peaks: list[int] = []
    closed: list[int] = []
    nodes: list[int] = []
    for _ in range(WATCHED):
        counted = [event.counted for event in twin.step(next(requests)) if isinstance(event, BytesRead) and event.phase in moments]
        peaks.append(max(counted, default=0))
        closed.append(twin.closing.counted)
        nodes.append(twin.cache.trie.nodes)
    growth = (closed[-1] - closed[-1 - STEADY]) // STEADY
    return Outlook(
        prompt=SHARED + UNIQUE,
        reply=REPLY,
        nodes=(nodes[-1] - nodes[-1 - STEADY]) / STEADY,
        growth=growth,
        full_at=_full_at(peaks, growth, policy.budget_bytes),
        budget=policy.budget_bytes,
        live=twin.closing.live,
    )


def _full_at(peaks: list[int], growth: int, budget: int) -> int | None:
    """Return the first request whose peak passes `budget`: one of those watched, or on the line that they end on."""
    for place, peak in enumerate(peaks, start=1):
        if peak > budget:
            return place
    more = requests_until_full(budget - peaks[-1], growth)
    return None if more is None else len(peaks) + more
