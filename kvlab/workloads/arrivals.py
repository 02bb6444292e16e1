"""Order of arrival: how a server with one runner serialises what several users send.

Invariants: each user sends the next request `think_s` after the last reply; the runner serves one request at a time, first come first
served; who comes at the same moment is served in the users' order.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from kvlab.workloads.request import Request

SERVICE_S = 2.0
"""Seconds that a request is taken to be served: only the order follows from it."""


def serialised(users: Sequence[Sequence[Request]], service_s: float = SERVICE_S) -> tuple[Request, ...]:
    """Return the requests of all users in the order in which one runner serves them."""
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
