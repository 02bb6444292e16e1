from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kvlab.events import BytesRead, Event, Evicted, Matched, RequestBegan, RequestClosed
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recording

WEIGHTS = 1_000_000
BUDGET = 100_000
Rows = Iterable[dict[str, Any]]
Make = Callable[..., Recording]


def _recording(rows: Rows, *, source: str = "lab", budget: int = BUDGET, extra: Iterable[Event] = (), **manifest: Any) -> Recording:
    """Make a recording of requests given by what differs: counted, live, snapshots, unattributed, predicted, evicts, matched, ..."""
    events: list[Event] = []
    seq = itertools.count()

    def add(event: Event, request: int, origin: str = "spans" if source == "twin" else source) -> None:
        event.seq, event.request, event.source = next(seq), request, origin
        events.append(event)

    for number, row in enumerate(rows, start=1):
        counted, live = row.get("counted", 0), row.get("live", 5_000)
        snapshots, unattributed = row.get("snapshots", counted), row.get("unattributed", 0)
        matched = row.get("matched", 0)
        cached, tokens = row.get("cached", matched), row.get("tokens", 100)
        add(RequestBegan(label=f"r{number}", tokens=tokens, limit=5), number)
        reason = row.get("reason", "nothing_shared")
        add(Matched(tokens=tokens, matched=matched, cached=cached, left=tokens - cached, reason=reason, layer=row.get("layer", "")), number)
        for _ in range(row.get("evicts", 0)):
            add(Evicted(node=1, start=0, end=1, freed=1), number)
        for event in row.get("events", ()):
            add(event, number)
        active = WEIGHTS + live + snapshots + unattributed
        reading: dict[str, Any] = {"phase": "close", "weights": WEIGHTS, "budget": budget, "nodes": 1 + number}
        add(BytesRead(**reading, live=live, counted=counted, snapshots=snapshots, active=active, unattributed=unattributed), number)
        if "predicted" in row:
            add(BytesRead(**reading, live=row.get("predicted_live", live), counted=row["predicted"], snapshots=row["predicted"]), number, "twin")
        add(RequestClosed(generated=5, stop="limit"), number)
    for event in extra:
        add(event, event.request)
    return Recording.of(Manifest.now(model="m", policy=Policy(budget_bytes=budget), source=source, **manifest), events)


@pytest.fixture
def recording() -> Make:
    return _recording


@pytest.fixture
def rows_by_the_rules() -> Callable[..., list[dict[str, Any]]]:
    """Rows whose twin holds exactly what is counted."""

    def rows(counted: Iterable[int], **more: Any) -> list[dict[str, Any]]:
        return [{"counted": value, "predicted": value} | more for value in counted]

    return rows
