"""Recordings of what is seen from outside, made of events by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from kvlab.events import Event, Listed, Observed, ProcessSeen, RequestBegan, RequestClosed
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recording

RUNNER_PID = 42
SERVER_PID = 7


def recording_of(events: Iterable[tuple[float, int, Event]], policy: Policy | None = None, **manifest: Any) -> Recording:
    """Return a recording of (seconds, request, event)."""
    made: list[Event] = []
    for seq, (t, request, event) in enumerate(events):
        event.seq, event.t, event.request, event.source = seq, t, request, "table"
        made.append(event)
    given = Manifest.now(model=manifest.pop("model", "m"), source=manifest.pop("source", "table"), policy=policy)
    return Recording.of(dataclasses.replace(given, **manifest), made)


def sizes(figures: Iterable[tuple[int, float]], *, gauge: str = "size", step: int = 1, **more: Any) -> Recording:
    """Return a recording of a gauge by request; request 0 is the load."""
    events: list[tuple[float, int, Event]] = []
    for request, value in figures:
        if request:
            events += [(0.0, request, RequestBegan()), (0.0, request, RequestClosed())]
        events.append((0.0, request, Observed(gauge=gauge, observed=round(value), step=step)))
    return recording_of(events, **more)


def look(models: Iterable[str], pids: Iterable[int], size: int = 0, held: int = 0) -> list[Event]:
    """Return the events of one look: the list, the server and its runners, and what they hold."""
    names, runners = tuple(models), tuple(pids)
    events: list[Event] = [Listed(count=len(names), model=name) for name in names] or [Listed(count=0)]
    events += [Observed(gauge="size", observed=size, label=name) for name in names]
    events += [ProcessSeen(pid=pid, ppid=SERVER_PID, label="ollama") for pid in runners]
    events += [Observed(gauge="footprint", observed=held, label="runner", pid=pid) for pid in runners]
    return [*events, ProcessSeen(pid=SERVER_PID, ppid=1, label="ollama"), Observed(gauge="footprint", observed=9, label="server", pid=SERVER_PID)]


def looks_at(*moments: tuple[float, list[Event]]) -> Recording:
    """Return a recording of looks at given seconds."""
    return recording_of((t, 0, event) for t, events in moments for event in events)
