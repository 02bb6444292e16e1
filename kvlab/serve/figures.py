"""Figures: running totals of one loaded model's events, for `/metrics` and for the calls that list what is loaded."""

from __future__ import annotations

from collections import Counter

from kvlab.events import BytesRead, Event, Evicted, Matched, RequestClosed

OWNERS = ("weights", "live", "snapshots", "transient", "pool", "unattributed")
"""Who holds bytes: the fields of `BytesRead` that together are the allocator's active bytes and its pool."""


class Figures:
    """What a runner's events add up to.

    Attributes:
        bytes: The last reading of all owners; None before the first.
        tokens: Prompt tokens matched, cached and left, over all requests.
        requests: Requests by why they ended.
        generated: New tokens.
        evictions: Nodes evicted.
        evicted_bytes: Bytes that they counted.
    """

    def __init__(self) -> None:
        self.bytes: BytesRead | None = None
        self.tokens: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.generated = 0
        self.evictions = 0
        self.evicted_bytes = 0

    def see(self, event: Event) -> None:
        """Add an event."""
        match event:
            case BytesRead() if event.source != "twin":
                self.bytes = event
            case Matched():
                self.tokens.update(matched=event.matched, cached=event.cached, left=event.left)
            case RequestClosed():
                self.requests[event.stop] += 1
                self.generated += event.generated
            case Evicted():
                self.evictions += 1
                self.evicted_bytes += event.freed
            case _:
                pass

    @property
    def held(self) -> int:
        """Bytes in use and in the pool at the last reading; 0 before the first."""
        return 0 if self.bytes is None else self.bytes.active + self.bytes.pool
