"""Where the messages of a chat end in its prompt, by the model's own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvlab.errors import BadValue

if TYPE_CHECKING:
    from kvlab.models.tokens import Tokenizer


def message_ends(tokenizer: Tokenizer, messages: Sequence[tuple[str, str]], tokens: Sequence[int]) -> list[int]:
    """Return the offsets in the prompt `tokens` at which `messages` end, in order.

    A message ends where the chat up to it, rendered by itself, still agrees with the prompt. A template may render a beginning otherwise, or
    refuse it: such an end is where the two last agree, or none.
    """
    found: list[int] = []
    for count in range(1, len(messages) + 1):
        try:
            alone = tokenizer.chat(messages[:count], reply=False)
        except BadValue:
            continue
        end = _agreeing(alone, tokens)
        if end > (found[-1] if found else 0):
            found.append(end)
    return found


def _agreeing(first: Sequence[int], second: Sequence[int]) -> int:
    return next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
