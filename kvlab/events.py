"""Every event, the one contract between sources and instruments.

Sources (the runner on a real model, the twin, an importer) append events to a `Log`; a Recording stores them; instruments
fold them into tables. Fields that share a name share a meaning and a type, so all events fit one table (`COLUMNS`).

Invariants: `seq` counts from 0 without a gap within a log; `request` is 0 outside any request and counts from 1;
bytes are whole numbers of bytes, seconds are floats, offsets are token positions and spans are [start, end).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from kvlab.event_base import Event as Event
from kvlab.events_outside import LIFE_SIGNS as LIFE_SIGNS
from kvlab.events_outside import RUNNER_STATES as RUNNER_STATES
from kvlab.events_outside import UNDERSTOOD as UNDERSTOOD
from kvlab.events_outside import LifeSign as LifeSign
from kvlab.events_outside import LinesCounted as LinesCounted
from kvlab.events_outside import Listed as Listed
from kvlab.events_outside import Observed as Observed
from kvlab.events_outside import ProcessSeen as ProcessSeen
from kvlab.events_outside import RunnerChanged as RunnerChanged
from kvlab.events_outside import Served as Served

PRIVATE_COLUMNS = ("token", "text", "prompt_tokens")
"""Columns that hold prompts or answers: stored only when the user asks."""


@dataclass(slots=True)
class Loaded(Event):
    """A model's weights are in place. Bytes are those of the allocator after loading; `outside` were in use before, by others."""

    kind: ClassVar[str] = "loaded"
    weights: int = 0
    outside: int = 0
    active: int = 0
    pool: int = 0


@dataclass(slots=True)
class RequestBegan(Event):
    """A request was taken up: `tokens` in its prompt, at most `limit` new ones. `text` is the prompt.

    `prompt_tokens` are its token ids, each with the text that it adds, as JSON: `[[id, text], …]`; told by runs that store texts.
    """

    kind: ClassVar[str] = "request_began"
    label: str = ""
    tokens: int = 0
    limit: int = 0
    text: str | None = None
    prompt_tokens: str | None = None


@dataclass(slots=True)
class Matched(Event):
    """The trie was asked and the layers restored.

    `matched` tokens agree with the trie, `cached` were restored, `left` must be evaluated. `reason` is one of `REASONS`;
    `layer` is the kind that limited the restore ("" when none did).
    """

    kind: ClassVar[str] = "matched"
    tokens: int = 0
    matched: int = 0
    cached: int = 0
    left: int = 0
    reason: str = ""
    layer: str = ""


REASONS = ("reused_in_full", "reuse_limited_by_restore_point", "evicted", "nothing_shared", "refused_by_layer")
"""Why `cached` is what it is, in the words of the verdicts of why_not_reused."""


@dataclass(slots=True)
class NodeBorn(Event):
    """A node was added below `parent` with edge [start, end); `user` marks an explicit restore point. The root is node 0."""

    kind: ClassVar[str] = "node_born"
    node: int = 0
    parent: int = -1
    start: int = 0
    end: int = 0
    user: bool = False


@dataclass(slots=True)
class NodeSplit(Event):
    """`node` was cut at offset `end`: the new node `head` took [start, end), `node` keeps the rest, its children and its user flag."""

    kind: ClassVar[str] = "node_split"
    node: int = 0
    head: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class NodeMerged(Event):
    """`node` took over the edge of its parent `head`, which is gone; `node` now spans [start, end)."""

    kind: ClassVar[str] = "node_merged"
    node: int = 0
    head: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class NodeRemoved(Event):
    """A leaf left the trie."""

    kind: ClassVar[str] = "node_removed"
    node: int = 0


@dataclass(slots=True)
class FrontierMoved(Event):
    """The active path now ends at `node`; its nodes are `node` and all its ancestors."""

    kind: ClassVar[str] = "frontier_moved"
    node: int = 0


@dataclass(slots=True)
class Evicted(Event):
    """Eviction took `node` with edge [start, end): a `leaf` was removed, an `interior` node merged into its child. `freed` counted bytes went."""

    kind: ClassVar[str] = "evicted"
    node: int = 0
    start: int = 0
    end: int = 0
    state: str = "leaf"
    freed: int = 0


@dataclass(slots=True)
class SnapshotTaken(Event):
    """A snapshot of layer group `group` began to exist over [start, end).

    `state` is lazy (0 bytes, an index into the live buffer), owned or view; `counted` and `retained` are its bytes; `call_site` as in `Allocated`.
    """

    kind: ClassVar[str] = "snapshot_taken"
    snapshot: int = 0
    group: int = 0
    layer: str = ""
    start: int = 0
    end: int = 0
    state: str = "lazy"
    counted: int = 0
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class SnapshotPlaced(Event):
    """A snapshot was installed on a node."""

    kind: ClassVar[str] = "snapshot_placed"
    snapshot: int = 0
    node: int = 0


@dataclass(slots=True)
class SnapshotOwned(Event):
    """A lazy snapshot was copied out of the live buffer and now owns its bytes; `call_site` as in `Allocated`."""

    kind: ClassVar[str] = "snapshot_owned"
    snapshot: int = 0
    counted: int = 0
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class SnapshotClosed(Event):
    """A snapshot ceased to exist."""

    kind: ClassVar[str] = "snapshot_closed"
    snapshot: int = 0


@dataclass(slots=True)
class PagedIn(Event):
    """The live buffers were restored to `end` from `node`, which begins at `start`."""

    kind: ClassVar[str] = "paged_in"
    node: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class PagedOut(Event):
    """The layers that `node` lacked were captured at its end."""

    kind: ClassVar[str] = "paged_out"
    node: int = 0
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Scheduled(Event):
    """A capture was scheduled at offset `end`; `user` marks an explicit restore point."""

    kind: ClassVar[str] = "scheduled"
    end: int = 0
    user: bool = False


@dataclass(slots=True)
class Captured(Event):
    """All layers were captured at offset `end`."""

    kind: ClassVar[str] = "captured"
    end: int = 0


@dataclass(slots=True)
class ChunkRan(Event):
    """A prefill forward evaluated prompt tokens [start, end) in `seconds`."""

    kind: ClassVar[str] = "chunk_ran"
    start: int = 0
    end: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class TokenOut(Event):
    """The model produced its `index`-th token of this request, from 0. `text` is what it adds to the answer.

    The last one may have no token: text that was held back until the end. A long run of the twin that nobody watches tells only the last one.
    """

    kind: ClassVar[str] = "token_out"
    index: int = 0
    token: int | None = None
    text: str | None = None


@dataclass(slots=True)
class Warned(Event):
    """Something a user should know; `message` names figures, never prompts or answers."""

    kind: ClassVar[str] = "warned"
    message: str = ""


@dataclass(slots=True)
class Allocated(Event):
    """`owner` (weights, live, snapshots, transient) took `retained` bytes; `node` when a node's snapshot did.

    A long run of the twin that nobody watches leaves these and `Freed` out of snapshots: there they follow from the snapshots' own events.
    `call_site` is the Python code that asked for it, when the run records call sites: `FILE:LINE FUNCTION`, then who called that, a line each.
    """

    kind: ClassVar[str] = "allocated"
    owner: str = ""
    node: int = -1
    retained: int = 0
    call_site: str | None = None


@dataclass(slots=True)
class Freed(Event):
    """`owner` gave `retained` bytes back to the allocator; `node` when a node's snapshot did."""

    kind: ClassVar[str] = "freed"
    owner: str = ""
    node: int = -1
    retained: int = 0


@dataclass(slots=True)
class PoolCleared(Event):
    """The allocator's free buffers (`pool` bytes) went back to the system."""

    kind: ClassVar[str] = "pool_cleared"
    pool: int = 0


@dataclass(slots=True)
class BytesRead(Event):
    """All owners' bytes at one moment; `phase` is load, begin, prefill, attach, decode, close or unload.

    With source `twin` these are predicted: what a lawful cache holds after the same requests under the same policy.

    Attributes:
        weights: Retained by the weights.
        live_logical: Of the live buffers up to the offset.
        live: Retained by the live buffers: their capacity.
        counted: What the policy's budget sees of the snapshots.
        snapshots: Retained by the snapshots.
        transient: Retained by consumed merge inputs until the next sweep (`lifetimes=sweep`).
        pool: The allocator's free buffers.
        active: The allocator's own count of bytes in use, less what was `outside` when the weights were loaded.
        unattributed: active - weights - live - snapshots - transient.
        peak: The highest active bytes since the request began.
        budget: The policy's budget.
        nodes: Nodes in the trie, the root included.
        footprint: Of the whole process, as the system tells it (`kvlab.allocator.process_bytes`); read of a real run at load, close and unload, else None.
    """

    kind: ClassVar[str] = "bytes_read"
    phase: str = ""
    weights: int = 0
    live_logical: int = 0
    live: int = 0
    counted: int = 0
    snapshots: int = 0
    transient: int = 0
    pool: int = 0
    active: int = 0
    unattributed: int = 0
    peak: int = 0
    budget: int = 0
    nodes: int = 0
    footprint: int | None = None


@dataclass(slots=True)
class RequestClosed(Event):
    """A request ended. `stop` is one of `STOPS`; `text` is the answer."""

    kind: ClassVar[str] = "request_closed"
    generated: int = 0
    stop: str = ""
    ttft_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    peak: int = 0
    text: str | None = None


STOPS = ("stop_token", "limit", "context", "cancelled", "no_reply", "failed")
"""Why a request ended: a stop token, its limit of new tokens, the context is full, cancelled, none asked, a server did not answer it."""


@dataclass(slots=True)
class WrongPositions(Event):
    """Restored positions [start, end) of layer group `group` hold what request `belongs_to` wrote there."""

    kind: ClassVar[str] = "wrong_positions"
    group: int = 0
    layer: str = ""
    start: int = 0
    end: int = 0
    belongs_to: int = 0


@dataclass(slots=True)
class Violation(Event):
    """An invariant does not hold: the `rule`'s id, and which values broke it."""

    kind: ClassVar[str] = "violation"
    rule: str = ""
    message: str = ""


def _all_events() -> dict[str, type[Event]]:
    return {cls.kind: cls for cls in Event.__subclasses__()}


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


class Log:
    """Events in the order in which they happened.

    `append` stamps an event; `drain` hands over what came since the last drain. A log that is `off` keeps nothing.
    """

    __slots__ = ("_clock", "_events", "_seq", "_start", "off", "request", "source")

    def __init__(self, source: str = "lab", clock: Callable[[], float] = time.perf_counter) -> None:
        self.source = source
        self.request = 0
        self.off = False
        self._clock = clock
        self._start = clock()
        self._events: deque[Event] = deque()
        self._seq = 0

    def append(self, event: Event) -> None:
        """Stamp `event` with its place, its time, the current request and the source (unless it names its own)."""
        if self.off:
            return
        event.seq = self._seq
        event.t = self._clock() - self._start
        event.request = self.request
        event.source = event.source or self.source
        self._seq += 1
        self._events.append(event)

    def drain(self) -> Iterator[Event]:
        """Yield the events appended since the last drain, oldest first. What a reader who stops early has not seen stays for the next one."""
        while self._events:
            yield self._events.popleft()
