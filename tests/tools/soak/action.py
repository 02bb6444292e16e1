"""Action: one operation of a soak, as plain data: a request with its given reply, and how it is cut short, if it is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from kvlab.workloads import Request
from kvlab.workloads.request import MediaItem


@dataclass(frozen=True, slots=True)
class Action:
    """One request. Of the three ways to end early at most one is given.

    Attributes:
        tokens: Its prompt.
        reply: The reply that the model gives.
        cancel_prefill: It is cancelled at this position of its prefill.
        cancel_decode: It is cancelled after so many tokens of its reply.
        leave_after: Whoever reads the events leaves after so many chunks of the prefill.
        media: Items among the prompt's tokens.
        ends: Where its messages end; of interest to `capture_at=message_ends` alone.
        idle_before: No request came for a while before it; of interest to `evict_at` with idle alone.
    """

    tokens: tuple[int, ...]
    reply: tuple[int, ...] = ()
    cancel_prefill: int | None = None
    cancel_decode: int | None = None
    leave_after: int | None = None
    media: tuple[MediaItem, ...] = ()
    ends: tuple[int, ...] = ()
    idle_before: bool = False

    @property
    def request(self) -> Request:
        """The request that the runner gets."""
        return Request(
            tokens=self.tokens,
            generated=self.reply,
            cancel_after=self.cancel_prefill,
            media=self.media,
            ends=self.ends,
            think_s=1.0 if self.idle_before else 0.0,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it; the first three names are those of a case file."""
        row: dict[str, Any] = {"tokens": list(self.tokens), "generated": list(self.reply)}
        more = {
            "cancel_after_tokens": self.cancel_prefill,
            "cancel_after_reply_tokens": self.cancel_decode,
            "leave_after_chunks": self.leave_after,
            "media": [dataclasses.asdict(item) for item in self.media] or None,
            "message_ends": list(self.ends) or None,
            "think_seconds": 1.0 if self.idle_before else None,
        }
        return row | {name: value for name, value in more.items() if value is not None}
