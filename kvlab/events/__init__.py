"""Every event, the one contract between sources and instruments.

Sources (the runner on a real model, the twin, an importer) append events to a `Log`; a Recording stores them; instruments
fold them into tables. Fields that share a name share a meaning and a type, so all events fit one table (`COLUMNS`).
Each module has the events of one matter: `request`, `trie`, `snapshot`, `allocation`, `outside` (figures of tools and servers).

Invariants: `seq` counts from 0 without a gap within a log; `request` is 0 outside any request and counts from 1;
bytes are whole numbers of bytes, seconds are floats, offsets are token positions and spans are [start, end).
"""

from __future__ import annotations

from dataclasses import fields

from kvlab.events import allocation, outside, request, snapshot, trie
from kvlab.events.allocation import Allocated as Allocated
from kvlab.events.allocation import BytesRead as BytesRead
from kvlab.events.allocation import Freed as Freed
from kvlab.events.allocation import Loaded as Loaded
from kvlab.events.allocation import PoolCleared as PoolCleared
from kvlab.events.base import MOVES as MOVES
from kvlab.events.base import RANKS as RANKS
from kvlab.events.base import READINGS as READINGS
from kvlab.events.base import TOKENS as TOKENS
from kvlab.events.base import TOPICS as TOPICS
from kvlab.events.base import Event as Event
from kvlab.events.base import Log as Log
from kvlab.events.base import NullLog as NullLog
from kvlab.events.outside import LIFE_SIGNS as LIFE_SIGNS
from kvlab.events.outside import RUNNER_STATES as RUNNER_STATES
from kvlab.events.outside import UNDERSTOOD as UNDERSTOOD
from kvlab.events.outside import LifeSign as LifeSign
from kvlab.events.outside import LinesCounted as LinesCounted
from kvlab.events.outside import Listed as Listed
from kvlab.events.outside import Observed as Observed
from kvlab.events.outside import ProcessSeen as ProcessSeen
from kvlab.events.outside import RunnerChanged as RunnerChanged
from kvlab.events.outside import Served as Served
from kvlab.events.request import REASONS as REASONS
from kvlab.events.request import STOPS as STOPS
from kvlab.events.request import ChunkRan as ChunkRan
from kvlab.events.request import Matched as Matched
from kvlab.events.request import RequestBegan as RequestBegan
from kvlab.events.request import RequestClosed as RequestClosed
from kvlab.events.request import TokenOut as TokenOut
from kvlab.events.request import Violation as Violation
from kvlab.events.request import Warned as Warned
from kvlab.events.request import WrongPositions as WrongPositions
from kvlab.events.snapshot import BufferChanged as BufferChanged
from kvlab.events.snapshot import Captured as Captured
from kvlab.events.snapshot import PagedIn as PagedIn
from kvlab.events.snapshot import PagedOut as PagedOut
from kvlab.events.snapshot import Scheduled as Scheduled
from kvlab.events.snapshot import SnapshotClosed as SnapshotClosed
from kvlab.events.snapshot import SnapshotOwned as SnapshotOwned
from kvlab.events.snapshot import SnapshotPlaced as SnapshotPlaced
from kvlab.events.snapshot import SnapshotTaken as SnapshotTaken
from kvlab.events.trie import PROTECTIONS as PROTECTIONS
from kvlab.events.trie import Evicted as Evicted
from kvlab.events.trie import FrontierMoved as FrontierMoved
from kvlab.events.trie import NodeBorn as NodeBorn
from kvlab.events.trie import NodeMerged as NodeMerged
from kvlab.events.trie import NodeRanked as NodeRanked
from kvlab.events.trie import NodeRemoved as NodeRemoved
from kvlab.events.trie import NodeSplit as NodeSplit

PRIVATE_COLUMNS = ("token", "text", "prompt_tokens")
"""Columns that hold prompts or answers: stored only on request (`store_text`)."""


def _all_events() -> dict[str, type[Event]]:
    named = [one for module in (request, trie, snapshot, allocation, outside) for one in vars(module).values()]
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
