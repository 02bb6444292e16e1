"""Prompts with pictures: the same picture under several questions, and one that ends so close to its picture that a capture falls inside it."""

from __future__ import annotations

from kvlab.workloads.request import MediaItem, Request
from kvlab.workloads.streams import Fresh, NamedStreams

PICTURE = 256
"""Tokens of a picture."""

_BEFORE, _QUESTION = 600, 40
_FOLD = 2**31


def media_requests(scale: float = 1.0) -> tuple[Request, ...]:
    """Return four prompts: a picture with a question two tokens long, the same with two longer ones, and another picture after the same beginning."""
    streams, fresh = NamedStreams(), Fresh()
    before = streams.first("before", max(_QUESTION, round(_BEFORE * scale)))

    def asked(number: int, picture: int, question: int) -> Request:
        tokens = (*before, *fresh.take(PICTURE), *fresh.take(question))
        item = MediaItem(start=len(before), end=len(before) + PICTURE, fold=_FOLD + picture)
        return Request(label=f"picture {picture}, question {number}", tokens=tokens, media=(item,), max_new=12, ignore_stop=True, think_s=2.0)

    return (asked(1, 1, 2), asked(2, 1, _QUESTION), asked(3, 1, _QUESTION), asked(4, 2, _QUESTION))
