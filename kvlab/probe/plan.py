"""Plan: the requests of a workload as a server takes them: one after another, some at once, each with its context length.

What is varied in a series is in its labels (`kvlab.workloads.series`): `context 8192, request 3` is sent with that context length, and requests
of `4 at once` go out together, one of each of four conversations, then the next ones. Requests of token ids become words, an id a word: about as many
tokens, and no text that means anything.
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from kvlab.errors import NotAvailable
from kvlab.workloads import Request, Workload

_CONTEXT = re.compile(r"^context (\d+)\b")
_AT_ONCE = re.compile(r"^(\d+) at once\b")

_WORDS = (
    "the of and to in is that it was for on are as with his they at be this from have or by one had not but what all were when we there can an your "
    "which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no "
    "make than first been its who now people my made over did down only way find use may water long little very after words called just where most"
)
WORDS = tuple(_WORDS.split())
"""Short words that nearly every tokenizer knows as one token each with the space before them."""


Numbered = tuple[int, Request]
"""A request and its number in the workload, from 1."""


@dataclass(frozen=True, slots=True)
class Step:
    """Requests that go out at once, at least one, and their context length; 0 leaves it to the server."""

    requests: Sequence[Numbered]
    context: int = 0

    @property
    def first(self) -> int:
        """The number of its first request."""
        return self.requests[0][0]


def steps(workload: Workload, most: int | None = None) -> Iterator[Step]:
    """Yield the steps of a workload's first `most` requests (actions count, too); all without `most`.

    Raises:
        NotAvailable: a request cannot be sent to a server.
    """
    numbered = enumerate(workload.requests, 1) if most is None else zip(range(1, most + 1), workload.requests, strict=False)
    for at_once, block in groupby(numbered, key=lambda item: _number(_AT_ONCE, item[1])):
        requests = [(number, as_text(request)) for number, request in block]
        if at_once > 1:
            yield from _turns(requests, at_once)
        else:
            for number, request in requests:
                yield Step(((number, request),), _number(_CONTEXT, request))


def _turns(requests: Sequence[Numbered], at_once: int) -> Iterator[Step]:
    """Yield the turns of conversations, `at_once` of these together: a sample follows each turn."""
    chats: dict[str, list[Numbered]] = {}
    for number, request in requests:
        chats.setdefault(request.chat or str(number), []).append((number, request))
    every = list(chats.values())
    for begin in range(0, len(every), at_once):
        for turn in zip_longest(*every[begin : begin + at_once]):
            yield Step(tuple(one for one in turn if one is not None))


def as_text(request: Request) -> Request:
    """Return a request whose prompt is text.

    Raises:
        NotAvailable: it goes on from a conversation of token ids.
    """
    if request.text or request.action:
        return request
    if request.follow is not None:
        raise NotAvailable(
            what=f"request {request.label!r} goes on from a conversation of token ids",
            why="a server of this API takes text only, and its reply is text",
            hint="run it on the twin (kvlab twin), or use a workload of text such as chat:8",
        )
    # ids of one prompt often follow each other: the sum keeps two such prompts from having the same words
    words = " ".join(WORDS[zlib.crc32(token.to_bytes(8, "little")) % len(WORDS)] for token in request.tokens)
    return dataclasses.replace(request, prompt=words, tokens=(), ends=())


def _number(pattern: re.Pattern[str], request: Request) -> int:
    found = pattern.match(request.label)
    return int(found[1]) if found else 0
