"""Whether a log ends with its runners stopped: what an unload would give back is then no forecast any more."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.events import RequestBegan, RunnerChanged
from kvlab.recording import Recording

BEGIN, END = ("starting", "serving", "ready"), ("stopping", "unloaded")


@dataclass(frozen=True, slots=True)
class RunnerStopped:
    """The last stop, when no runner is left.

    Attributes:
        t: Seconds since the recording began.
        pids: The processes that were stopped, as far as they are told.
    """

    t: float
    pids: tuple[int, ...]


def runner_stopped(recording: Recording) -> RunnerStopped | None:
    """Return the stop that left no runner; None when one may be alive, or no runner is told of."""
    rows = recording.events.filter(pl.col("kind").is_in([RunnerChanged.kind, RequestBegan.kind]))
    if not (rows.get_column("kind") == RunnerChanged.kind).any():
        return None
    alive, ended, found = set[int | None](), set[tuple[int | None, int | None]](), None
    for kind, state, pid, port, t in rows.select("kind", "state", "pid", "port", "t").iter_rows():
        if kind == RequestBegan.kind or state in BEGIN:
            found = None
            if kind != RequestBegan.kind:
                alive.add(port)
        elif state in END:
            ended.add((pid, port))
            # a stop names the process, a start its port: they are told apart by their number only
            if len(ended) >= len(alive):
                found = RunnerStopped(t, tuple(sorted(one for one, _ in ended if one is not None)))
                alive.clear()
                ended.clear()
    return found
