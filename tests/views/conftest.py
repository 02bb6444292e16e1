"""Recordings made of events by hand: what happened is written here, so every expectation can be derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Page

from kvlab.events import (
    BytesRead,
    Event,
    FrontierMoved,
    Loaded,
    Log,
    Matched,
    NodeBorn,
    NodeRemoved,
    NodeSplit,
    RequestBegan,
    RequestClosed,
    SnapshotClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
    Warned,
)
from kvlab.findings import Finding, Findings
from kvlab.policy import Policy
from kvlab.recording import SCHEMA, Manifest, Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.units import MIB
from tests.browser.lab_page import chromium

SHAPE = Shape(name="toy", groups=(LayerGroup(kind="kv", layers=tuple(range(30)), bytes_per_token=MIB),), weights_bytes=513 * MIB)
WEIGHTS = 513 * MIB
BUDGET = 20 * MIB


class Script:
    """Writes events one after another; `read` fills in what each reading has in common."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.log = Log(clock=lambda: 0.0)
        self.budget = budget

    def add(self, *events: Event) -> None:
        for event in events:
            self.log.append(event)

    def read(
        self, phase: str, *, live: int = 0, snapshots: int = 0, counted: int | None = None, pool: int = 0, unattributed: int = 0, source: str = ""
    ) -> None:
        held = WEIGHTS + live + snapshots + unattributed
        counted = snapshots if counted is None else counted
        self.add(
            BytesRead(
                phase=phase,
                weights=WEIGHTS,
                live=live,
                counted=counted,
                snapshots=snapshots,
                pool=pool,
                active=held,
                unattributed=unattributed,
                budget=self.budget,
                source=source,
            )
        )

    def recording(self, workload: str = "pair", **changes: Any) -> Recording:
        given: dict[str, Any] = {"model": "toy", "origin": {"file": "toy.gguf"}, "shape": SHAPE, "policy": Policy(budget_bytes=self.budget), "seed": 0}
        return Recording.of(Manifest.now(workload=workload, **(given | changes)), list(self.log.drain()))


def owned(snapshot: int, node: int, start: int, end: int) -> tuple[SnapshotTaken, SnapshotPlaced]:
    size = (end - start) * MIB
    return SnapshotTaken(snapshot=snapshot, layer="kv", start=start, end=end, state="owned", counted=size, retained=size), SnapshotPlaced(
        snapshot=snapshot, node=node
    )


@pytest.fixture(scope="session")
def pair() -> Recording:
    """Two requests that share 4 tokens: node 1 [0, 10) is split at 4 (head 2) and node 3 [4, 9) grows beside its rest.

    One token takes 1 MiB. Request 1 leaves a snapshot of 10 MiB, in the second it becomes two of 4 and 6 MiB; node 3's is lazy.
    """
    script = Script()
    script.add(Loaded(weights=WEIGHTS, active=WEIGHTS), NodeBorn(node=0))
    script.read("load")
    script.log.request = 1
    script.add(RequestBegan(label="first", tokens=10), Matched(tokens=10, left=10, reason="nothing_shared"), NodeBorn(node=1, parent=0, end=10))
    script.add(SnapshotTaken(snapshot=1, layer="kv", end=10), SnapshotPlaced(snapshot=1, node=1), FrontierMoved(node=1))
    script.read("attach", live=16 * MIB, pool=2 * MIB)
    script.add(SnapshotOwned(snapshot=1, counted=10 * MIB, retained=10 * MIB))
    script.read("close", live=16 * MIB, snapshots=10 * MIB, pool=MIB)
    script.read("close", live=16 * MIB, snapshots=10 * MIB, source="twin")
    script.add(RequestClosed(generated=3, stop="limit", ttft_s=0.25, prefill_s=0.2, decode_s=0.5))
    script.log.request = 2
    script.add(RequestBegan(label="<b>&second", tokens=9), Matched(tokens=9, matched=4, cached=4, left=5, reason="reused_in_full"))
    script.add(NodeSplit(node=1, head=2, start=0, end=4), SnapshotClosed(snapshot=1), *owned(2, 2, 0, 4), *owned(3, 1, 4, 10))
    script.add(NodeBorn(node=3, parent=2, start=4, end=9, user=True), SnapshotTaken(snapshot=4, layer="kv", start=4, end=9), SnapshotPlaced(snapshot=4, node=3))
    script.add(FrontierMoved(node=3), Warned(message="</script> & <i>"))
    script.read("close", live=16 * MIB, snapshots=10 * MIB, unattributed=MIB)
    script.add(RequestClosed(generated=2, stop="limit", ttft_s=0.1, prefill_s=0.1, decode_s=0.5))
    return script.recording()


@pytest.fixture(scope="session")
def fifteen() -> Recording:
    """Fifteen unrelated requests, each with nodes of 1.5, 0.3 and 0.2 MiB in a chain, under a budget that holds ten of them."""
    script = Script()
    script.add(Loaded(weights=WEIGHTS, active=WEIGHTS), NodeBorn(node=0))
    script.read("load")
    for request in range(1, 16):
        first, kept = 3 * request - 2, min(request - 1, 10) * 2 * MIB
        script.log.request = request
        script.add(RequestBegan(label=f"question {request}", tokens=36), Matched(tokens=36, left=36, reason="nothing_shared"))
        script.read("begin", live=16 * MIB, snapshots=kept, pool=2 * MIB)
        edges = [(first, 0, 0, 30), (first + 1, first, 30, 36), (first + 2, first + 1, 36, 40)]
        script.add(*(NodeBorn(node=node, parent=parent, start=start, end=end) for node, parent, start, end in edges))
        for node, _, start, end in edges:
            script.add(SnapshotTaken(snapshot=node, layer="kv", start=start, end=end), SnapshotPlaced(snapshot=node, node=node))
        script.add(FrontierMoved(node=first + 2))
        script.read("prefill", live=16 * MIB, snapshots=kept, pool=MIB)
        if request > 10:
            old = first - 30
            script.add(*(SnapshotClosed(snapshot=node) for node in range(old, old + 3)), *(NodeRemoved(node=node) for node in (old + 2, old + 1, old)))
        size = {node: (end - start) * MIB // 20 for node, _, start, end in edges}
        script.add(*(SnapshotOwned(snapshot=node, counted=held, retained=held) for node, held in size.items()))
        kept = min(request, 10) * 2 * MIB
        script.read("close", live=16 * MIB, snapshots=kept, pool=MIB // 2)
        script.read("close", live=16 * MIB, snapshots=kept, source="twin")
        script.add(RequestClosed(generated=4, stop="limit", ttft_s=0.25, prefill_s=0.2, decode_s=0.5))
    return script.recording("unrelated:15")


@pytest.fixture(scope="session")
def empty() -> Recording:
    """A run that was stopped before its first event."""
    return Recording(Manifest.now(model="toy"), pl.DataFrame(schema=SCHEMA))


@pytest.fixture(scope="session")
def findings() -> Findings:
    one = Finding(
        question="budget_or_leak",
        verdict="budget",
        summary="growth stops at the budget",
        numbers={"plateau_bytes": BUDGET, "reached_at_request": 11, "slope": 0.12345},
        confidence="high",
        evidence=(),
        refuted_by="unexplained bytes that grow <for> 3 requests",
    )
    return Findings((one,))


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page of a browser, empty at first."""
    with chromium() as browser:
        yield browser.new_page(viewport={"width": 1300, "height": 1300})
