"""Prompts with pictures: one that ends so close to its picture that a capture falls inside it, and one that ends with it, so that a match does.

Every picture is followed by another prompt with the same one. What comes before it is longer than the window of the models this is for, so a
sliding-window layer resumes at a checkpoint only.
"""

from __future__ import annotations

from kvlab.workloads.request import MediaItem, Request
from kvlab.workloads.streams import Fresh, NamedStreams

PICTURE = 256
"""Tokens of a picture."""

_BEFORE, _QUESTION = 1200, 40
_FOLD = 2**31


def media_requests(scale: float = 1.0) -> tuple[Request, ...]:
    """Return six prompts behind one beginning: a picture with a question of two tokens, the same with two longer ones, another picture with a question,
    a third one with none and no reply, and the same with a question.
    """
    streams, fresh = NamedStreams(), Fresh()
    before = streams.first("before", max(_QUESTION, round(_BEFORE * scale)))

    def sent(number: int, picture: int, question: int) -> Request:
        tokens = (*before, *fresh.take(PICTURE), *fresh.take(question))
        item = MediaItem(start=len(before), end=len(before) + PICTURE, fold=_FOLD + picture)
        label = f"picture {picture}, question {number}" if question else f"picture {picture} alone"
        return Request(label=label, tokens=tokens, media=(item,), max_new=12 if question else 0, ignore_stop=True, think_s=2.0)

    return (sent(1, 1, 2), sent(2, 1, _QUESTION), sent(3, 1, _QUESTION), sent(4, 2, _QUESTION), sent(5, 3, 0), sent(6, 3, _QUESTION))
