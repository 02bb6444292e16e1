"""The table `spans`: versions of snapshots as intervals of existence.

A version exists from `born` up to, not including, `died` (null while it is alive). Placing a snapshot on a node, or copying it
out of the live buffer, ends a version and begins the next. Invariants: of one snapshot no two versions live at the same moment;
versions are in the order of `born`. A snapshot that was not seen to be taken gets a version with what is known, the rest null.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import polars as pl

from kvlab.events import Event, SnapshotClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken
from kvlab.recording.by_kind import EventTables

SCHEMA: dict[str, pl.DataType] = {
    "snapshot": pl.Int64(),
    "node": pl.Int64(),
    "group": pl.Int64(),
    "layer": pl.String(),
    "start": pl.Int64(),
    "end": pl.Int64(),
    "state": pl.String(),
    "counted": pl.Int64(),
    "retained": pl.Int64(),
    "request": pl.Int64(),
    "born": pl.Int64(),
    "died": pl.Int64(),
    "call_site": pl.String(),
}
"""The columns of `spans`: `node` is null until the snapshot is placed; `request` is the one in which it was taken; `call_site` is the code
that took it, or that copied it out once it is owned, as in `kvlab.events.Allocated`."""

_KINDS = (SnapshotTaken, SnapshotPlaced, SnapshotOwned, SnapshotClosed)


@dataclass(slots=True, eq=False)
class SpanVersion:
    """One version of a snapshot, with the columns of `SCHEMA`; what the events do not record is None.

    Attributes:
        snapshot: Its number.
        born: The event (`seq`) with which this version began.
        node: The node it is on; None until it is placed.
        group: Its layer group's place in the shape.
        layer: Its layer kind.
        start: Its first token's offset from the root.
        end: The offset after its last token.
        state: lazy, owned or view.
        counted: Bytes the budget counts for it.
        retained: Bytes it keeps allocated.
        request: The request that took it.
        died: The event (`seq`) that ended this version; None while it is alive.
        call_site: The Python code that took or copied it; None when the run did not record that.
    """

    snapshot: int
    born: int
    node: int | None = None
    group: int | None = None
    layer: str | None = None
    start: int | None = None
    end: int | None = None
    state: str | None = None
    counted: int | None = None
    retained: int | None = None
    request: int | None = None
    died: int | None = None
    call_site: str | None = None


class SpanFold:
    """Versions of snapshots, taken from one event after another.

    Attributes:
        all: All versions there were, in the order of `born`.
        alive: Those that live, by snapshot.
        ended: Those that died, in that order.
    """

    def __init__(self) -> None:
        self.all: list[SpanVersion] = []
        self.alive: dict[int, SpanVersion] = {}
        self.ended: list[SpanVersion] = []

    def take(self, event: Event) -> None:
        """Take the next event; those that are not about snapshots change nothing."""
        if isinstance(event, SnapshotTaken):
            names = ("group", "layer", "start", "end", "state", "counted", "retained", "request", "call_site")
            self.taken(SpanVersion(event.snapshot, event.seq, **{name: getattr(event, name) for name in names}))
        elif isinstance(event, SnapshotPlaced):
            self.placed(event.seq, event.snapshot, event.node)
        elif isinstance(event, SnapshotOwned):
            self.owned(event.seq, event.snapshot, event.counted, event.retained, event.call_site)
        elif isinstance(event, SnapshotClosed):
            self.closed(event.seq, event.snapshot)

    def taken(self, version: SpanVersion) -> None:
        """A snapshot began to exist as `version`."""
        self._end(version.snapshot, version.born)
        self._begin(version)

    def placed(self, seq: int, snapshot: int, node: int) -> None:
        """A snapshot was installed on a node."""
        self._begin(dataclasses.replace(self._end(snapshot, seq) or SpanVersion(snapshot, seq), node=node, born=seq, died=None))

    def owned(self, seq: int, snapshot: int, counted: int, retained: int, call_site: str | None = None) -> None:
        """A lazy snapshot was copied out."""
        before = self._end(snapshot, seq) or SpanVersion(snapshot, seq)
        self._begin(dataclasses.replace(before, state="owned", counted=counted, retained=retained, born=seq, died=None, call_site=call_site))

    def closed(self, seq: int, snapshot: int) -> None:
        """A snapshot ceased to exist."""
        self._end(snapshot, seq)

    def _end(self, snapshot: int, seq: int) -> SpanVersion | None:
        version = self.alive.pop(snapshot, None)
        if version:
            version.died = seq
            self.ended.append(version)
        return version

    def _begin(self, version: SpanVersion) -> None:
        self.alive[version.snapshot] = version
        self.all.append(version)


def fold_spans(events: EventTables) -> pl.DataFrame:
    """Return the table of snapshots, with `SCHEMA`."""
    columns = ("kind", "seq", "request", "snapshot", "node", "group", "layer", "start", "end", "state", "counted", "retained", "call_site")
    changes = events.rows(*_KINDS, columns=columns)
    fold = SpanFold()
    for kind, seq, request, snapshot, node, group, layer, start, end, state, counted, retained, site in changes.iter_rows():
        if kind == SnapshotClosed.kind:
            fold.closed(seq, snapshot)
        elif kind == SnapshotTaken.kind:
            fold.taken(SpanVersion(snapshot, seq, None, group, layer, start, end, state, counted, retained, request, None, site))
        elif kind == SnapshotPlaced.kind:
            fold.placed(seq, snapshot, node)
        else:
            fold.owned(seq, snapshot, counted, retained, site)
    return pl.DataFrame([pl.Series(name, [getattr(version, name) for version in fold.all], dtype=dtype) for name, dtype in SCHEMA.items()])
