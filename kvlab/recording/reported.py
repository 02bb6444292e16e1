"""Reported bytes: what a server says a loaded model takes = weights + live + paged out + pool, and how `ollama ps` prints it.

A whole state (recurrent, sliding window) that was snapshotted when a request closed is the live one itself: its arrays are never written
again, so the snapshot keeps a handle and no copy. It counts for the budget and is allocated once. Two published figures agree only so:
weights of 16.9 GiB (the pool's report) and 16.98 to 17.06 GiB of weights and live buffers (the 50-turn table), with 0.14 GiB a state.
What views pin beyond what they count is not in this sum: `retained` has it, and under `capture_as=view` a server would list that.
Source: public facts on Ollama's MLX runner, its `ps` and its printing of bytes (`data/SOURCES.md`).
"""

from __future__ import annotations

import polars as pl

from kvlab.events import FrontierMoved
from kvlab.recording import Recording
from kvlab.recording.readings import PREDICTED, observed
from kvlab.shape import WHOLE_STATE
from kvlab.units import GB

PS_UNITS = ((10**12, "TB"), (GB, "GB"), (10**6, "MB"), (10**3, "KB"))
"""What `ollama ps` calls bytes, the largest first."""


def reported(*, weights: int, live: int, paged_out: int, pool: int = 0, shared: int = 0) -> int:
    """Return the bytes a server reports: those of all owners and the pool, less what two of them share."""
    return weights + live + paged_out + pool - shared


def shared_with_live(recording: Recording) -> dict[int, int]:
    """Return, by request of a twin's recording, the bytes that the frontier's snapshots share with the live state when it has closed.

    Not of a real run: there kvlab copies a state, and the allocator's own count says what is held.
    """
    if recording.manifest.source != "twin":
        return {}
    closes = observed(recording.tables, ("request", "seq", "phase")).filter(pl.col("phase") == "close").drop("phase")
    closes = closes.unique("request", keep="last").sort("seq")
    moves = recording.rows(FrontierMoved, columns=("seq", "node", "source")).filter(pl.col("source").ne_missing(PREDICTED)).drop("source")
    spans = recording.spans.filter(pl.col("layer").is_in(WHOLE_STATE)).drop("seq", strict=False)
    placed = closes.join_asof(moves, on="seq").join(spans, on=["node", "request"])
    alive = placed.filter((pl.col("born") <= pl.col("seq")) & (pl.col("died").is_null() | (pl.col("died") > pl.col("seq"))))
    return dict(alive.group_by("request").agg(pl.col("counted").sum()).iter_rows())


def reported_bytes(recording: Recording) -> dict[int, int]:
    """Return, by request whose bytes were read at its close, what a server would report then.

    Raises:
        UnreadableInput: the recording cannot be read.
    """
    shared = shared_with_live(recording)
    found: dict[int, int] = {}
    for row in recording.requests.filter(pl.col("counted").is_not_null()).iter_rows(named=True):
        found[row["request"]] = reported(
            weights=row["retained"] - row["live"] - row["snapshots"],
            live=row["live"],
            paged_out=row["paged_out"],
            pool=row["pool"] or 0,
            shared=shared.get(row["request"], 0),
        )
    return found


def ps_size(count: float) -> str:
    """Return bytes as `ollama ps` prints SIZE: decimal units, cut to a whole number from 10 up, one decimal below that if there is one."""
    for factor, name in PS_UNITS:
        if count >= factor:
            value = count / factor
            return f"{int(value)} {name}" if value >= 10 or value == int(value) else f"{value:.1f} {name}"
    return f"{count:.0f} B"
