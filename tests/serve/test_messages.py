"""What the server and its runners say to each other arrives as it was sent, however the bytes are cut."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.events import EVENTS
from kvlab.serve.messages import (
    AnyMessage,
    Cancel,
    Events,
    Failed,
    Finished,
    Generate,
    Inbox,
    LoadModel,
    Ping,
    Sampled,
    Status,
    encode,
    pack_event,
    unpack_event,
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "str": st.text(),
    "bool": st.booleans(),
}

SENT: tuple[AnyMessage, ...] = (
    Ping(),
    Cancel(7),
    LoadModel("tiny-hybrid", {"budget_bytes": 2**40, "evict_at": ["begin"]}),
    Generate(1, "chat", Sampled(0.8, 0.9, 40, 0.0, None), 2**31 - 1, prompt="é\u2028 " * 1000),
    Finished(3),
    Failed(3, "BadValue", "what", "why", "hint"),
    Status(0, None, None),
    Events((pack_event(EVENTS["token_out"](index=1, text="x")),)),  # pyright: ignore[reportCallIssue]
)


@pytest.mark.parametrize("kind", EVENTS)
@given(data=st.data())
def test_every_event_is_the_same_on_the_other_side(kind: str, data: st.DataObject) -> None:
    types = {one.name: str(one.type) for one in fields(EVENTS[kind])}
    event = EVENTS[kind](**{name: data.draw(VALUES[type_name.removesuffix(" | None")]) for name, type_name in types.items()})
    assert unpack_event(pack_event(event)) == event


@given(st.lists(st.sampled_from(SENT), max_size=6), st.lists(st.integers(1, 5000), min_size=1))
def test_messages_come_whole_however_the_bytes_are_cut(sent: list[AnyMessage], cuts: list[int]) -> None:
    data, inbox, got, place = b"".join(map(encode, sent)), Inbox(), list[AnyMessage](), 0
    while place < len(data):
        step = cuts[place % len(cuts)]
        got += inbox.add(data[place : place + step])
        place += step
    assert got == sent


@pytest.mark.parametrize("data", [b"\xff" * 8, b"\0\0\0\1\xc1", b"\0\0\0\2{}"])
def test_what_is_no_message_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        list(Inbox().add(data))
    assert not isinstance(refused.value, msgspec.EncodeError)
