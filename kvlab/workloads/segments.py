"""Segments: the parts of a chat's prompt that mlx-lm's server evaluates, and keeps, one by one.

Source of the rule: mlx-lm 0.32.2, `mlx_lm/server.py` (`ResponseGenerator._tokenize`, the batched path of `_generate`).
A chat whose last message is the user's has the leading system messages, up to where the template shows what follows them; then the rest,
up to where a prompt's end begins the thinking; then that end. Any other prompt is one segment, of kind assistant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from kvlab.errors import BadValue
from kvlab.workloads.request import Segment

Chat = Callable[[Sequence[tuple[str, str]]], Sequence[int]]
"""Renders chat messages (role, content) as token ids."""


def chat_segments(messages: Sequence[tuple[str, str]], tokens: Sequence[int], chat: Chat, thinking: int | None = None) -> tuple[Segment, ...]:
    """Return the segments of a prompt.

    Args:
        messages: Its chat messages; none for a plain prompt.
        tokens: Its token ids.
        chat: The template that rendered it, without what begins the reply.
        thinking: Where its end begins the thinking; None when it does not.
    """
    whole = len(tokens)
    if not messages or messages[-1][0] != "user":
        return (Segment("assistant", whole),)
    tail = whole if thinking is None else thinking
    system = _system_end(messages, tokens, chat)
    found = [Segment("system", system)] if system else []
    if system < tail:
        found.append(Segment("user", tail))
    return (*found, Segment("assistant", whole)) if tail < whole else tuple(found)


def _system_end(messages: Sequence[tuple[str, str]], tokens: Sequence[int], chat: Chat) -> int:
    """Return where the leading system messages, followed by an empty message of the user, stop to agree with the prompt; 0 for never or none."""
    system = list(takewhile(lambda message: message[0] == "system", messages))
    if not system:
        return 0
    try:
        alone = chat([*system, ("user", "")])
    except BadValue:
        # the template takes no empty message
        return 0
    return next((at for at, (one, other) in enumerate(zip(alone, tokens, strict=False)) if one != other), 0)
