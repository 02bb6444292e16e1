"""Running: one request under way, from begin to close."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kvlab.cache import Session
from kvlab.runner.drafts import Drafts
from kvlab.runner.timing import Timing
from kvlab.workloads.request import Request


@dataclass(slots=True)
class Running:
    """One request under way.

    Attributes:
        request: What was asked.
        tokens: Its prompt.
        session: Its hold on the cache.
        drafts: What it writes to draft layers.
        timing: Its seconds.
        reply: The tokens the model produced; a stop token is one of them.
        stop: Why it ended (`kvlab.events.STOPS`); cancelled until something else is known.
    """

    request: Request
    tokens: Sequence[int]
    session: Session
    drafts: Drafts
    timing: Timing
    reply: list[int] = field(default_factory=list[int])
    stop: str = "cancelled"

    @property
    def generated(self) -> int:
        """New tokens that belong to the answer."""
        return len(self.reply) - (self.stop == "stop_token")

    def wants_cancel(self, at: int) -> bool:
        """Whether the request itself asks to be cancelled at token `at` of its prefill."""
        return self.request.cancel_after is not None and at >= self.request.cancel_after
