"""Events of a request: from the prompt to the last token, warnings, and what must not happen (wrong positions, broken invariants)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class RequestBegan(Event):
    """A request was taken up: `tokens` in its prompt, at most `limit` new ones. `text` is the prompt.

    `prompt_tokens` are its token ids, each with the text that it adds, as JSON: `[[id, text], …]`; recorded by runs that store texts.
    """

    kind: ClassVar[str] = "request_began"
    label: str = ""
    tokens: int = 0
    limit: int = 0
    text: str | None = None
    prompt_tokens: str | None = None


@dataclass(slots=True)
class Matched(Event):
    """The prompt was matched in the trie and the layers were restored.

    `matched` tokens agree with the trie, `cached` were restored, `left` must be evaluated. `reason` is one of `REASONS`;
    `layer` is the kind that limited the restore ("" when none did).
    """

    kind: ClassVar[str] = "matched"
    tokens: int = 0
    matched: int = 0
    cached: int = 0
    left: int = 0
    reason: str = ""
    layer: str = ""


REASONS = ("reused_in_full", "reuse_limited_by_restore_point", "evicted", "nothing_shared", "refused_by_layer")
"""Why `cached` is what it is, in the words of the verdicts of why_not_reused."""


@dataclass(slots=True)
class ChunkRan(Event):
    """A prefill forward evaluated prompt tokens [start, end) in `seconds`."""

    kind: ClassVar[str] = "chunk_ran"
    start: int = 0
    end: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class TokenOut(Event):
    """The model produced its `index`-th token of this request, from 0. `text` is what it adds to the answer.

    The last one may have no token: text that was held back until the end. `offset` are the tokens that the live buffers hold then.
    A long run of the twin may leave out all but the last one (`Manifest.left_out`).
    """

    kind: ClassVar[str] = "token_out"
    index: int = 0
    token: int | None = None
    text: str | None = None
    offset: int | None = None


@dataclass(slots=True)
class RequestClosed(Event):
    """A request ended. `stop` is one of `STOPS`; `text` is the answer."""

    kind: ClassVar[str] = "request_closed"
    generated: int = 0
    stop: str = ""
    ttft_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    peak: int = 0
    text: str | None = None


STOPS = ("stop_token", "limit", "context", "cancelled", "no_reply", "failed")
"""Why a request ended: a stop token, its limit of new tokens, the context is full, cancelled, no reply requested, a server did not answer it."""


@dataclass(slots=True)
class Warned(Event):
    """Something a user should know; `message` names figures, never prompts or answers."""

    kind: ClassVar[str] = "warned"
    message: str = ""


@dataclass(slots=True)
class WrongPositions(Event):
    """Restored positions [start, end) of layer group `group` hold what request `belongs_to` wrote there."""

    kind: ClassVar[str] = "wrong_positions"
    group: int = 0
    layer: str = ""
    start: int = 0
    end: int = 0
    belongs_to: int = 0


@dataclass(slots=True)
class Violation(Event):
    """An invariant does not hold: the `rule`'s id, and which values broke it."""

    kind: ClassVar[str] = "violation"
    rule: str = ""
    message: str = ""
