"""Conversations: requests that continue the last one of their chat get their prompt when that one has closed.

Invariant: what `resolve` returns has no `follow`; its prompt is complete.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kvlab.errors import BadValue
from kvlab.workloads.request import Follow, Request, Segment
from kvlab.workloads.segments import chat_segments
from kvlab.workloads.streams import FIRST_RERENDERED, Fresh
from kvlab.workloads.text_tokens import message_tokens, next_turn_ends, next_turn_tokens, word_tokens

RERENDERED = "(earlier) "
"""What a reply that has text begins with in the next prompt when it is rendered differently."""

_THINKING = re.compile(r"^(?:(?!<think>).)*?</think>\s*|<think>.*?</think>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Turn:
    """The last closed request of a chat. `text` is None when the reply has no text (the twin)."""

    request: Request
    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    text: str | None


class Conversations:
    """The open conversations of one lab or twin, by name.

    Example:
        >>> import kvlab
        >>> kvlab.workloads.Conversations().resolve(kvlab.Request(tokens=(1, 2), chat="a")).tokens
        (1, 2)
    """

    __slots__ = ("_fresh", "_last", "_sent", "_systems")

    def __init__(self) -> None:
        self._last: dict[str, _Turn] = {}
        self._sent: dict[str, Request] = {}
        self._systems: dict[str, tuple[Segment, ...]] = {}
        self._fresh = Fresh(FIRST_RERENDERED)

    def resolve(self, request: Request) -> Request:
        """Return `request` with its whole prompt: explicit tokens, or messages with the reply in its place.

        A reply that has text goes into a chat's messages as the assistant's; one without (the twin) stays tokens.
        A request that follows nothing is returned as it is.

        Raises:
            BadValue: the request continues a conversation without a closed request.
        """
        full = request
        if request.follow is None:
            self._systems.pop(request.chat, None)
        else:
            last = self._last.get(request.chat)
            if last is None:
                raise BadValue(
                    what=f"request {request.label!r} continues conversation {request.chat!r}, which has no closed request",
                    why="a request that follows needs the prompt and the reply before it",
                    hint="send the conversation's first request before",
                )
            full = dataclasses.replace(self._continued(request, request.follow, last), follow=None)
        if request.chat:
            self._sent[request.chat] = full
        return full

    def closed(self, request: Request, prompt_tokens: Sequence[int], reply_tokens: Sequence[int], reply_text: str | None) -> None:
        """Note a closed request of a chat: its whole prompt, its whole reply (the last token too), and the reply's text or None."""
        if request.chat:
            sent = self._sent.pop(request.chat, request)
            self._last[request.chat] = _Turn(sent, tuple(prompt_tokens), tuple(reply_tokens), reply_text)

    def _continued(self, request: Request, follow: Follow, last: _Turn) -> Request:
        if request.tokens:
            before = self._before(follow, last)
            return dataclasses.replace(
                request, tokens=(*before, *request.tokens), ends=_ends(request.ends, last, len(before)), segments=self._segments(request, last, len(before))
            )
        if last.text is not None and last.request.messages and request.messages:
            return dataclasses.replace(request, messages=(*last.request.messages, ("assistant", _shown(last.text, follow)), *request.messages))
        if last.text is not None and last.request.prompt and request.prompt:
            return dataclasses.replace(request, prompt=last.request.prompt + last.text + request.prompt)
        own = next_turn_tokens(request.messages) if request.messages else word_tokens(request.prompt)
        before = self._before(follow, last)
        ends = _ends(next_turn_ends(request.messages), last, len(before))
        segments = self._segments(dataclasses.replace(request, tokens=own), last, len(before))
        return dataclasses.replace(request, tokens=before + tuple(own), messages=(), prompt="", ends=ends, segments=segments)

    def _segments(self, request: Request, last: _Turn, before: int) -> tuple[Segment, ...]:
        """Return the segments of a prompt whose own part `request.tokens` follows `before` tokens."""
        if request.chat not in self._systems:
            first = last.request.segments or chat_segments(last.request.messages, last.prompt, message_tokens)
            self._systems[request.chat] = tuple(one for one in first if one.kind == "system")
        if request.prompt or (request.messages and request.messages[-1][0] != "user"):
            return (Segment("assistant", before + len(request.tokens)),)
        own = request.segments or (Segment("user", len(request.tokens)),)
        return (*self._systems[request.chat], *(Segment(kind, before + end) for kind, end in own))

    def _before(self, follow: Follow, last: _Turn) -> tuple[int, ...]:
        """Return what comes before the request's own part."""
        if follow.drop_tail:
            return last.prompt[: -follow.drop_tail] + last.reply[: follow.keep_reply]
        if follow.rerendered is not None:
            return last.prompt + self._fresh.take(follow.rerendered)
        return last.prompt + last.reply


def _ends(own: Sequence[int], last: _Turn, before: int) -> tuple[int, ...]:
    """Return where messages end in a prompt that continues after `before` tokens: those before it, where it continues, and its own part's."""
    return (*(end for end in last.request.ends if end < before), before, *(before + end for end in own))


def _shown(text: str, follow: Follow) -> str:
    """Return a reply as the next prompt shows it: without its thinking, as chat templates strip it, and rendered differently if `follow` has it so."""
    shown = _THINKING.sub("", text)
    return f"{RERENDERED}{shown}" if follow.rerendered is not None or follow.drop_tail else shown
