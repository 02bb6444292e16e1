"""Messages between the server and its runner processes, and how they travel: a length of four bytes, then MessagePack.

Events travel as they are: each is its kind and its fields (`pack_event`), and is the same event again on the other side.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from kvlab.events import EVENTS, Event

MOST_BYTES = 2**30
"""Bytes of one message at most: a longer one is no message of ours."""

_LENGTH = struct.Struct("!I")


class Message(msgspec.Struct, frozen=True, tag=True):
    """What all messages have: a tag by which they are distinguished."""


class LoadModel(Message, frozen=True, tag=True):
    """To the child: open `model` under the choices `policy`. A prefill chunk of the size that suits the device replaces the policy's unless `own_chunk`."""

    model: str
    policy: dict[str, Any]
    own_chunk: bool = False
    accept_licence: bool = False
    store_text: bool = False


class Chat(msgspec.Struct, frozen=True):
    """A chat message: `calls` are the tools it calls, `tool_name` is the tool whose result it is."""

    role: str
    content: str = ""
    thinking: str = ""
    calls: tuple[dict[str, Any], ...] = ()
    tool_name: str = ""


class Sampled(msgspec.Struct, frozen=True):
    """How tokens are chosen; the fields of `kvlab.workloads.request.Sampling`."""

    temperature: float
    top_p: float
    top_k: int
    min_p: float
    seed: int | None


class Generate(Message, frozen=True, tag=True):
    """To the child: run request `number`. Its prompt is `messages`, rendered with the chat template, or `prompt` as it is.

    `context` are the tokens that prompt and reply may have together; 0 for as many as the model holds.
    With `templated` a model that has a chat template gets `prompt` as a user's message after the system message `system`.
    """

    number: int
    label: str
    sampled: Sampled
    max_new: int
    messages: tuple[Chat, ...] = ()
    prompt: str = ""
    system: str = ""
    templated: bool = False
    context: int = 0
    tools: tuple[dict[str, Any], ...] = ()


class Cancel(Message, frozen=True, tag=True):
    """To the child: end request `number` at its next chunk or token."""

    number: int


class Ping(Message, frozen=True, tag=True):
    """To the child: answer with a `Status`. The thread that answers is not the one that runs requests."""


class Ready(Message, frozen=True, tag=True):
    """From the child: the model is loaded. `began` is when its log began, by `time.perf_counter`, which all processes of a machine share."""

    model: str
    shape: dict[str, Any]
    origin: dict[str, str]
    policy: dict[str, Any]
    context: int
    began: float
    tools: bool


class Events(Message, frozen=True, tag=True):
    """From the child: what happened, as (kind, fields)."""

    packed: tuple[tuple[str, msgspec.Raw], ...]


class Finished(Message, frozen=True, tag=True):
    """From the child: request `number` has ended, and all its events were sent."""

    number: int


class Failed(Message, frozen=True, tag=True):
    """From the child: request `number` (0: the load) cannot be run. The fields are those of a KvlabError, `error` is its class."""

    number: int
    error: str
    what: str
    why: str
    hint: str


class Status(Message, frozen=True, tag=True):
    """From the child: it answers. `number` is the request that runs, 0 for none; bytes are those of the allocator (None while nothing is loaded)."""

    number: int
    active: int | None
    pool: int | None


AnyMessage = LoadModel | Generate | Cancel | Ping | Ready | Events | Finished | Failed | Status

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: AnyMessage) -> bytes:
    """Return the bytes of a message as they travel."""
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


class Inbox:
    """Puts messages together from pieces of bytes as they arrive."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def add(self, piece: bytes) -> Iterator[AnyMessage]:
        """Yield the messages that `piece` completes.

        Raises:
            ValueError: the bytes are no message of ours.
        """
        self._waiting += piece
        while len(self._waiting) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._waiting)
            if length > MOST_BYTES:
                msg = f"a message of {length} bytes"
                raise ValueError(msg)
            end = _LENGTH.size + length
            if len(self._waiting) < end:
                return
            body = bytes(self._waiting[_LENGTH.size : end])
            del self._waiting[:end]
            yield _decoder.decode(body)


def pack_event(event: Event) -> tuple[str, msgspec.Raw]:
    """Return an event as it travels."""
    return event.kind, msgspec.Raw(_encoder.encode(event))


def unpack_event(packed: tuple[str, msgspec.Raw]) -> Event:
    """Return the event that was packed."""
    kind, fields = packed
    return _event_decoder(kind).decode(fields)


@cache
def _event_decoder(kind: str) -> msgspec.msgpack.Decoder[Event]:
    return msgspec.msgpack.Decoder(EVENTS[kind])
