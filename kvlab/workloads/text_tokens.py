"""Token ids of a text without a tokenizer: what the twin uses where a real model uses its own.

The rule: a text is cut into pieces (up to `PIECE` letters or digits with the space before them, or one other sign), and a
piece's id is made from its CRC-32. So the same words give the same ids on every machine and in every run, and a longer
text with the same beginning, cut at a message's end, gives the same first ids. Counts are near those of a real tokenizer
for English, never equal to them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate

from kvlab.workloads.request import Request
from kvlab.workloads.streams import FIRST_STREAM

PIECE = 7
"""Letters of a word piece at most."""

_PIECES = re.compile(rf"\s?\w{{1,{PIECE}}}|\s?[^\w\s]|\s+")


def word_tokens(text: str) -> list[int]:
    """Return the ids of `text`, one a word piece: each at least 1 and below 2^20."""
    return [1 + zlib.crc32(piece.encode()) % (FIRST_STREAM - 1) for piece in _PIECES.findall(text)]


def message_tokens(messages: Iterable[tuple[str, str]]) -> list[int]:
    """Return the ids of chat messages (role, content) in the twin's chat template, up to where the reply begins.

    Each message and its header are cut into pieces by themselves, so a conversation's earlier messages keep their ids.
    """
    tokens: list[int] = []
    for role, content in messages:
        tokens += word_tokens(f"<|{role}|>\n") + word_tokens(f"{content}<|end|>\n")
    return tokens + word_tokens("<|assistant|>\n")


def message_ends(messages: Iterable[tuple[str, str]]) -> list[int]:
    """Return the offsets in `message_tokens(messages)` at which each message ends."""
    return list(accumulate(len(word_tokens(f"<|{role}|>\n")) + len(word_tokens(f"{content}<|end|>\n")) for role, content in messages))


def next_turn_tokens(messages: Iterable[tuple[str, str]]) -> list[int]:
    """Return the ids that follow a reply when a conversation continues with `messages`: the reply's end, then these messages."""
    return word_tokens("<|end|>\n") + message_tokens(messages)


def next_turn_ends(messages: Iterable[tuple[str, str]]) -> list[int]:
    """Return the offsets in `next_turn_tokens(messages)` at which each message ends."""
    return [len(word_tokens("<|end|>\n")) + end for end in message_ends(messages)]


def request_tokens(request: Request) -> Sequence[int]:
    """Return the prompt's ids as the twin sees it: the request's tokens, its plain prompt, or its messages."""
    if request.tokens:
        return request.tokens
    if request.messages:
        return message_tokens(request.messages)
    return word_tokens(request.prompt)
