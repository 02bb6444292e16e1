"""The table `spans`: versions of snapshots as intervals of existence.

A version lives from `born` up to, not including, `died` (null while it is alive). Placing a snapshot on a node, or copying it
out of the live buffer, ends a version and begins the next. Invariants: of one snapshot no two versions live at the same moment;
versions are in the order of `born`. A snapshot that was not seen to be taken gets a version with what is known, the rest null.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import polars as pl

from kvlab.events import SnapshotClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken

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
}
"""The columns of `spans`: `node` is null until the snapshot is placed; `request` is the one in which it was taken."""

_KINDS = (SnapshotTaken.kind, SnapshotPlaced.kind, SnapshotOwned.kind, SnapshotClosed.kind)


@dataclass(slots=True)
class _Version:
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


def fold_spans(events: pl.DataFrame) -> pl.DataFrame:
    """Return the table of snapshots, with `SCHEMA`."""
    told = events.filter(pl.col("kind").is_in(_KINDS)).select(
        "kind", "seq", "request", "snapshot", "node", "group", "layer", "start", "end", "state", "counted", "retained"
    )
    versions: list[_Version] = []
    alive: dict[int, _Version] = {}
    for kind, seq, request, snapshot, node, group, layer, start, end, state, counted, retained in told.iter_rows():
        before = alive.pop(snapshot, None)
        if before:
            before.died = seq
        if kind == SnapshotClosed.kind:
            continue
        if kind == SnapshotTaken.kind:
            now = _Version(snapshot, seq, None, group, layer, start, end, state, counted, retained, request)
        else:
            now = dataclasses.replace(before, born=seq, died=None) if before else _Version(snapshot, seq)
            if kind == SnapshotPlaced.kind:
                now.node = node
            else:
                now.state, now.counted, now.retained = "owned", counted, retained
        alive[snapshot] = now
        versions.append(now)
    columns = {name: [getattr(version, name) for version in versions] for name in SCHEMA}
    return pl.DataFrame(columns, schema=SCHEMA)
