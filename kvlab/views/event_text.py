"""An event as one line of text: what happened, with the fields that say something."""

from __future__ import annotations

from dataclasses import fields

from kvlab.events import Event
from kvlab.recording.fold_bytes import MEANING
from kvlab.units import binary

BYTES = frozenset({*MEANING, "retained", "freed", "before", "outside", "observed", "step"})
"""Fields that are bytes: printed with a unit."""

PLACES = frozenset({"node", "start", "end"})
"""Fields that say something also when they are 0; -1 means none."""

_STAMPS = frozenset(item.name for item in fields(Event))


def event_text(event: Event) -> str:
    """Return an event as one line: its place, its kind and its fields.

    Left out are fields that are 0, empty or false, and seconds, so that the same run gives the same lines.
    """
    given = [(item.name, getattr(event, item.name)) for item in fields(event) if item.name not in _STAMPS]
    words = [f"{name}={_words(name, value)}" for name, value in given if _says_something(name, value)]
    return f"{event.seq:>4}  {event.kind:<15}  {' '.join(words)}".rstrip()


def _says_something(name: str, value: object) -> bool:
    return value != -1 and not isinstance(value, float) and bool(value or name in PLACES)


def _words(name: str, value: object) -> str:
    if isinstance(value, int) and name in BYTES:
        return binary(value).replace(" ", "\u00a0")
    return repr(value) if isinstance(value, str) and name == "text" else str(value)
