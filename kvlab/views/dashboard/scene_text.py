"""A moment of the dashboard as text: what happened, who holds how many bytes, the trie, the snapshots and the request under way."""

from __future__ import annotations

import polars as pl

from kvlab.events import Matched, RequestClosed
from kvlab.recording import Recording
from kvlab.units import binary
from kvlab.views.spans_chart import spans_text
from kvlab.views.tables import last_bytes, readings
from kvlab.views.trie_outline import outline_text

OWNERS = ("counted", "budget", "snapshots", "live", "unattributed", "pool", "active")


def text(recording: Recording, at: int, sentence: str) -> str:
    """Return the moment right after event `at` as text; `sentence` says what happened."""
    if not recording.count:
        return "dashboard: nothing has happened yet"
    moment = recording.at(at)
    place = f"at event {at} of {recording.last}, request {moment.request}" if at >= 0 else "before the run: what the cache holds"
    parts = [
        f"dashboard {place}",
        f"  {sentence}",
        "  bytes: " + (", ".join(f"{name} {binary(moment.bytes[name])}" for name in OWNERS) + _footprint(recording, at) if moment.bytes else "none were read"),
        "  " + request_line(recording, moment.request, at),
        "",
        outline_text(moment),
        "",
        spans_text(moment, recording.manifest.shape),
    ]
    return "\n".join(parts)


def _footprint(recording: Recording, at: int) -> str:
    """Return the last footprint of the process that was read up to a moment, in words; "" before the first."""
    last = last_bytes(readings(recording).filter(pl.col("seq") <= at), "footprint")
    return f", footprint of the process {binary(last)}" if last else ""


def request_line(recording: Recording, request: int, at: int) -> str:
    """Return what is known of a request at a moment: how its prompt divides, and why."""
    if request < 1:
        return "request: none is under way"
    past = [event for event in recording.replay(Matched, RequestClosed) if event.request == request and event.seq <= at]
    words = f"request {request}: not matched yet"
    for event in past:
        if isinstance(event, Matched):
            words = f"request {request}: {event.tokens} tokens, matched {event.matched}, cached {event.cached}, left {event.left} ({event.reason})"
        elif isinstance(event, RequestClosed):
            words += f"; {event.generated} generated, " + ("cancelled" if event.stop == "cancelled" else f"stopped by {event.stop}")
    return words
