"""Troubles: what a client saw of a server's life that a reader of its figures has to know, in words.

What belongs to an unload that was asked for is no trouble: that the model leaves the list, that its process ends; nor what belongs to a restart
that was asked for: that the server is silent for a while and is another process.
"""

from __future__ import annotations

import polars as pl

from kvlab.events import LifeSign

WORDS: dict[str, str] = {
    "refused": "nobody took the connection",
    "stalled": "the server did not answer in time",
    "wrong_answer": "the server's answer was not what its API promises",
    "failed": "the server answered with an error or broke off",
    "restarted": "the server was started again: figures before and after are of different processes",
    "process_gone": "a process that held a model ended",
    "replaced": "a model that stayed listed is held by another process: figures before and after are of different processes",
    "left_behind": "no model was listed, and the process that held one lived on",
    "stale_size": "the list told a stale size; the later figure is used",
    "not_settled": "a reading had not settled when it was taken",
    "not_restarted": "the workload asks for a restart of the server, and it was not restarted",
}
"""The troubles, by their sign."""

_BELONGS = {
    "unload_asked": ("process_gone", "left_behind", "not_settled"),
    "restart_asked": ("process_gone", "left_behind", "not_settled", "restarted", "refused", "failed", "stalled"),
}
"""What belongs to what was asked for."""


def trouble_words(events: pl.DataFrame) -> tuple[str, ...]:
    """Return each trouble of a recording in one line: its sign, what it means, how often, and where first."""
    signs = events.filter(pl.col("kind") == LifeSign.kind).select("seq", "t", "request", "state")
    if not signs.height:
        return ()
    unasked = ~pl.lit(value=False)
    for asked, states in _BELONGS.items():
        requests = signs.filter(pl.col("state") == asked)["request"].unique().to_list()
        unasked &= ~(pl.col("request").is_in(requests) & pl.col("state").is_in(states))
    met = signs.filter(pl.col("state").is_in(list(WORDS)) & unasked)
    told = met.group_by("state", maintain_order=True).agg(pl.len().alias("times"), pl.col("request").first(), pl.col("t").first())
    return tuple(_line(**row) for row in told.iter_rows(named=True))


def _line(state: str, times: int, request: int, t: float) -> str:
    where = f"at request {request}" if request else f"after {t:.1f} s"
    return f"{state}: {WORDS[state]}, {where}" if times == 1 else f"{state}: {WORDS[state]}, {times} times, first {where}"
