"""Running: one request under way, from begin to close, and its seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from kvlab.cache import Session
from kvlab.runner.drafts import Drafts
from kvlab.workloads.request import Request


class Timing:
    """Seconds of one request, from the moment this object is made.

    Invariant: the time that a reader of the events takes between two of them is not counted, so stepping by hand changes no figure.

    Attributes:
        prefill_s: Until all prompt tokens but the last were evaluated.
        ttft_s: Until the first new token; 0 when there was none.
        decode_s: From the first new token to the end.
    """

    __slots__ = ("_away", "_first", "_left", "_start", "decode_s", "prefill_s", "ttft_s")

    def __init__(self) -> None:
        self._start = self._left = time.perf_counter()
        self._away = 0.0
        self._first = 0.0
        self.prefill_s = 0.0
        self.ttft_s = 0.0
        self.decode_s = 0.0

    def leave(self) -> None:
        """Events are handed over from now on."""
        self._left = time.perf_counter()

    def come_back(self) -> None:
        """The reader continues."""
        self._away += time.perf_counter() - self._left

    def prefilled(self) -> None:
        """The prompt is evaluated, all but its last token."""
        self.prefill_s = self._now()

    def produced(self) -> None:
        """A token came."""
        if not self._first:
            self._first = self.ttft_s = self._now()

    def ended(self) -> None:
        """No more tokens will come."""
        if self._first:
            self.decode_s = self._now() - self._first

    def _now(self) -> float:
        return time.perf_counter() - self._start - self._away


@dataclass(slots=True)
class Running:
    """One request under way.

    Attributes:
        request: The request.
        tokens: Its prompt.
        session: Its hold on the cache.
        drafts: What it writes to draft layers.
        timing: Its seconds.
        reply: The tokens the model produced; a stop token is one of them.
        text: The pieces of text that they add.
        stop: Why it ended (`kvlab.events.STOPS`); cancelled until something else is known.
    """

    request: Request
    tokens: Sequence[int]
    session: Session
    drafts: Drafts
    timing: Timing
    reply: list[int] = field(default_factory=list[int])
    text: list[str] = field(default_factory=list[str])
    stop: str = "cancelled"

    @property
    def generated(self) -> int:
        """New tokens that belong to the answer."""
        return len(self.reply) - (self.stop == "stop_token")

    def wants_cancel(self, at: int) -> bool:
        """Whether the request itself is to be cancelled at token `at` of its prefill, at the latest where the prefill ends: a later token is the reply's."""
        return self.request.cancel_after is not None and at >= min(self.request.cancel_after, self.session.reusable)
