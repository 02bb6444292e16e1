"""Caveats: what a reader has to know of a recording's figures. Which events it leaves out, which constants of its shape were fitted, a server's troubles.

A long run of the twin without a reader of its events leaves out what its tables do not need (`LEFT_OUT`). Its manifest names them, and what would be
folded from them is null.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import MOVES, RANKS, READINGS, TOKENS, LifeSign
from kvlab.recording.by_kind import EventTables
from kvlab.recording.manifest import Manifest

LEFT_OUT = {
    TOKENS: "tokens of a reply but the last (token_out)",
    MOVES: "allocations and frees of snapshots (allocated, freed)",
    READINGS: "readings of bytes during prefill (bytes_read)",
    RANKS: "the order of eviction and the room of live buffers (node_ranked, buffer_changed)",
}
"""What a recording may leave out, by its name in the manifest, in words."""

FITTED = "fitted"
"""The key of `Manifest.origin` that names the fitted constants of the shape."""

TROUBLES: dict[str, str] = {
    "refused": "connection refused",
    "stalled": "the server did not answer in time",
    "wrong_answer": "the server's answer was not what its API promises",
    "failed": "the server answered with an error or broke off",
    "restarted": "the server was started again: figures before and after are of different processes",
    "process_gone": "a process that held a model ended",
    "replaced": "a model that stayed listed is held by another process: figures before and after are of different processes",
    "left_behind": "no model was listed, and the process that held one was still alive",
    "stale_size": "the server listed a stale size; the later figure is used",
    "not_settled": "a reading had not settled when it was taken",
    "not_restarted": "the workload has a restart of the server, and it was not restarted",
}
"""The troubles, by their sign."""

_EXPECTED = {
    "unload_asked": ("process_gone", "left_behind", "not_settled"),
    "restart_asked": ("process_gone", "left_behind", "not_settled", "restarted", "refused", "failed", "stalled"),
}
"""Signs that are expected after an unload or a restart that was requested: the model leaves the list, its process ends, the server is silent for a while."""


def notes(manifest: Manifest) -> list[tuple[str, str]]:
    """Return what to know of a recording's figures as (name, words); empty when it stores every event and no constant was fitted."""
    found: list[tuple[str, str]] = []
    if manifest.left_out:
        words = ", ".join(LEFT_OUT.get(name, name) for name in manifest.left_out)
        found.append(("left out", f"{words}; what follows from them is null. `--store-text` (in Python `store_text=True`) keeps them"))
    if fitted := manifest.origin.get(FITTED):
        found.append((FITTED, f"{fitted} of the shape were chosen so that published figures come out, which the card of the twin names"))
    return found


def trouble_words(events: EventTables) -> tuple[str, ...]:
    """Return each trouble of a recording in one line: its sign, what it means, how often, and where first."""
    signs = events.rows(LifeSign, columns=("seq", "t", "request", "state"))
    if not signs.height:
        return ()
    unexpected = ~pl.lit(value=False)
    for cause, states in _EXPECTED.items():
        requests = signs.filter(pl.col("state") == cause)["request"].unique().to_list()
        unexpected &= ~(pl.col("request").is_in(requests) & pl.col("state").is_in(states))
    troubles = signs.filter(pl.col("state").is_in(list(TROUBLES)) & unexpected)
    counted = troubles.group_by("state", maintain_order=True).agg(pl.len().alias("times"), pl.col("request").first(), pl.col("t").first())
    return tuple(_line(**row) for row in counted.iter_rows(named=True))


def _line(state: str, times: int, request: int, t: float) -> str:
    where = f"at request {request}" if request else f"after {t:.1f} s"
    return f"{state}: {TROUBLES[state]}, {where}" if times == 1 else f"{state}: {TROUBLES[state]}, {times} times, first {where}"
