"""Every kind of event, and the columns of the table that all of them fit."""

from __future__ import annotations

from dataclasses import fields

from kvlab.events import allocation, broken, outside, request, snapshot, trie
from kvlab.events.base import Event

PRIVATE_COLUMNS = ("token", "text", "prompt_tokens")
"""Columns that hold prompts or answers: stored only when the user asks."""


def _all_events() -> dict[str, type[Event]]:
    named = [one for module in (request, trie, snapshot, allocation, broken, outside) for one in vars(module).values()]
    return {one.kind: one for one in named if isinstance(one, type) and issubclass(one, Event) and one is not Event}


EVENTS: dict[str, type[Event]] = _all_events()
"""Every event class by its kind."""


def _columns() -> dict[str, str]:
    columns: dict[str, str] = {"kind": "str"}
    for cls in (Event, *EVENTS.values()):
        for item in fields(cls):
            type_name = str(item.type).removesuffix(" | None")
            if columns.setdefault(item.name, type_name) != type_name:
                msg = f"{cls.__name__}.{item.name} is {type_name}, elsewhere {columns[item.name]}"
                raise TypeError(msg)
    return columns


COLUMNS: dict[str, str] = _columns()
"""Every column of the table of events, with its type: int, float, str or bool."""
