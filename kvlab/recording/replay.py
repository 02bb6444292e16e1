"""The events of a recording as objects, in order: what a live run gives and what a recording keeps are read the same way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any

import polars as pl

from kvlab.events import EVENTS, PRIVATE_COLUMNS, Event, RequestBegan, TokenOut
from kvlab.recording.by_kind import EventTables


def replay(events: EventTables, *kinds: type[Event], texts: bool = False) -> list[Event]:
    """Return events of some kinds (all when none is given) as objects, in the order of `seq`.

    What a row lacks has its default. Prompts and answers only with `texts`.
    """
    found = [event for cls in kinds or EVENTS.values() if events.has(cls) for event in _made(cls, events.rows(cls), texts=texts)]
    return sorted(found, key=attrgetter("seq"))


def _made(cls: type[Event], rows: pl.DataFrame, *, texts: bool) -> Iterator[Event]:
    names = [item.name for item in fields(cls) if texts or item.name not in PRIVATE_COLUMNS]
    for values in rows.select(names).iter_rows():
        given: dict[str, Any] = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield cls(**given)


def prompt_tokens(event: RequestBegan) -> list[tuple[int, str]]:
    """Return a prompt's token ids, each with the text it adds; [] when the event does not have them."""
    stored: str | None = event.prompt_tokens
    return [(int(token), str(text)) for token, text in json.loads(stored)] if stored else []


def stored_tokens(events: EventTables) -> dict[int, list[int]]:
    """Return for each request that stored its tokens those of its prompt and its reply."""
    found: dict[int, list[int]] = {}
    for event in replay(events, RequestBegan, TokenOut, texts=True):
        if isinstance(event, RequestBegan) and event.prompt_tokens is not None:
            found[event.request] = [token for token, _ in prompt_tokens(event)]
        elif isinstance(event, TokenOut) and event.token is not None and event.request in found:
            found[event.request].append(event.token)
    return found
