"""The events of a recording as objects, in order: what a live run gives and what a recording keeps are read the same way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import polars as pl

from kvlab.events import EVENTS, PRIVATE_COLUMNS, Event, RequestBegan, TokenOut


def replay(table: pl.DataFrame, *kinds: type[Event], texts: bool = False) -> list[Event]:
    """Return the rows of a table of events as events of some kinds (all when none is given), in the order of the rows.

    What a row lacks has its default. Prompts and answers only with `texts`.
    """
    rows = table.filter(pl.col("kind").is_in([kind.kind for kind in kinds])) if kinds else table
    found: dict[int, Event] = {}
    for (kind,), part in rows.with_row_index("_row").group_by("kind", maintain_order=True):
        cls = EVENTS.get(str(kind))
        if cls is not None:
            found |= dict(_made(cls, part, texts=texts))
    return [found[row] for row in sorted(found)]


def _made(cls: type[Event], part: pl.DataFrame, *, texts: bool) -> Iterator[tuple[int, Event]]:
    names = [item.name for item in fields(cls) if texts or item.name not in PRIVATE_COLUMNS]
    for row, *values in part.select("_row", *names).iter_rows():
        given: dict[str, Any] = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield row, cls(**given)


def prompt_tokens(event: RequestBegan) -> list[tuple[int, str]]:
    """Return a prompt's token ids, each with the text it adds; [] when the event does not have them."""
    stored: str | None = event.prompt_tokens
    return [(int(token), str(text)) for token, text in json.loads(stored)] if stored else []


def stored_tokens(table: pl.DataFrame) -> dict[int, list[int]]:
    """Return for each request that stored its tokens those of its prompt and its reply."""
    found: dict[int, list[int]] = {}
    for event in replay(table, RequestBegan, TokenOut, texts=True):
        if isinstance(event, RequestBegan) and event.prompt_tokens is not None:
            found[event.request] = [token for token, _ in prompt_tokens(event)]
        elif isinstance(event, TokenOut) and event.token is not None and event.request in found:
            found[event.request].append(event.token)
    return found
