"""How quick the dashboard is, in a real JupyterLab in headless Chromium, beside a trie drawn by Altair.

Measured: a scrub from its event to changed pixels, handled in the page; a click until Python's answer is in the page; the first paint
from the moment the widget is asked to draw. Changed pixels are taken to be there when the frame that holds the drawing is done.
Both are scrubbed alike: an input event on the slider in the page, in one notebook.
The bars are medians on two cores without a graphics processor.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.events import (
    BytesRead,
    Event,
    FrontierMoved,
    Log,
    Matched,
    NodeBorn,
    RequestBegan,
    RequestClosed,
    SnapshotOwned,
    SnapshotPlaced,
    SnapshotTaken,
)
from kvlab.policy import Policy
from kvlab.recording import Manifest, Recording
from kvlab.shape import LayerGroup, Shape
from kvlab.studies.bench_runner import Say, quiet, require_rounds
from kvlab.views import text_table

SMALL, LARGE = 2_000, 20_000
"""Nodes of the two tries."""

BARS: dict[str, float] = {
    "scrub": 60,
    "click_answered": 200,
    "first_paint": 300,
    "scrub_large": 200,
}
"""The most milliseconds of each median."""

ABOUT = {
    "scrub": f"scrub at {SMALL:,} nodes, event to changed pixels",
    "click_answered": f"click at {SMALL:,} nodes until Python's answer is in the page",
    "first_paint": f"first paint at {SMALL:,} nodes",
    "scrub_large": f"scrub at {LARGE:,} nodes, event to changed pixels",
    "scrub_overview": f"scrub at {SMALL:,} nodes in overview mode",
    "scrub_large_overview": f"scrub at {LARGE:,} nodes in overview mode",
    "altair": f"the same scrub of an Altair trie by a param, {SMALL:,} nodes, in the same notebook",
    "altair_large": f"the same scrub of an Altair trie by a param, {LARGE:,} nodes, in the same notebook",
}

BRANCH = 4
"""Nodes of one request's branch."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of every round, by what was measured.

    Attributes:
        rounds: How often each was done.
        times: Milliseconds, by the names of `ABOUT`.
        sent_bytes: What the page sent to widgets while it was scrubbed; what it was sent.
    """

    rounds: int
    times: dict[str, list[float]]
    sent_bytes: dict[str, int]

    def median(self, name: str) -> float:
        """Return the median of one, in ms."""
        return statistics.median(self.times[name])

    @property
    def passed(self) -> bool:
        """Whether every median is within its bar."""
        return all(self.median(name) <= most for name, most in BARS.items())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        rows = {
            name: {"about": ABOUT[name], "median_ms": self.median(name), "worst_ms": max(values), "bar_ms": BARS.get(name)}
            for name, values in self.times.items()
        }
        return {"bench": "views", "rounds": self.rounds, "passed": self.passed, "rows": rows, "bytes_while_scrubbing": self.sent_bytes}


def measure(rounds: int = 30, say: Say = quiet) -> Measured:
    """Open JupyterLab, draw both tries and measure.

    Raises:
        BadValue: `rounds` is below 1.
        NotAvailable: there is no Chromium or no Playwright.
    """
    require_rounds(rounds, 30)
    from tests.bench.views_lab import times_in_jupyterlab

    say(f"{rounds} rounds in JupyterLab in headless Chromium; this takes about a minute")
    with tempfile.TemporaryDirectory() as folder:
        times, sent = times_in_jupyterlab(Path(folder), rounds)
    return Measured(rounds, times, sent)


def as_text(measured: Measured) -> str:
    """Return it as a table."""
    rows = [
        (
            ABOUT[name],
            f"{measured.median(name):.1f}",
            f"{max(values):.1f}",
            f"{BARS[name]:.0f}" if name in BARS else "",
            "" if name not in BARS else "within" if measured.median(name) <= BARS[name] else "above its bar",
        )
        for name, values in measured.times.items()
    ]
    table = text_table.columns(("ms", "median", "worst", "bar", ""), rows, left=(0, 4))
    sent = ", ".join(f"{count:,} B {way}" for way, count in measured.sent_bytes.items())
    return f"{table}\nmessages to and from Python during all {measured.rounds} scrubs at {SMALL:,} nodes: {sent}"


def synthetic(nodes: int) -> Recording:
    """Return a recording with `nodes` nodes at its end: requests that share a beginning, each a branch of `BRANCH` nodes with owned snapshots."""
    shape = Shape(name="made up", groups=(LayerGroup(kind="kv", layers=tuple(range(28)), bytes_per_token=1024),))
    log = Log(clock=lambda: 0.0)
    for event in _events(nodes, log):
        log.append(event)
    return Recording.of(Manifest.now(model="made up", workload=f"{nodes} nodes", shape=shape, policy=Policy(), source="twin"), list(log.drain()))


def _events(nodes: int, log: Log) -> Iterator[Event]:
    yield NodeBorn(node=0)
    yield NodeBorn(node=1, parent=0, start=0, end=64)
    made, request = 2, 0
    while made < nodes:
        request += 1
        log.request = request
        yield RequestBegan(label=f"request {request}", tokens=160, limit=32)
        yield Matched(tokens=160, matched=64, cached=64, left=96, reason="reused_in_full")
        parent, at = 1, 64
        for step in range(min(BRANCH, nodes - made)):
            end = at + 16 + (7 * request + 5 * step) % 23
            yield NodeBorn(node=made, parent=parent, start=at, end=end)
            yield SnapshotTaken(snapshot=made, layer="kv", start=at, end=end)
            yield SnapshotPlaced(snapshot=made, node=made)
            yield SnapshotOwned(snapshot=made, counted=1024 * (end - at), retained=1024 * (end - at))
            parent, at, made = made, end, made + 1
        yield FrontierMoved(node=parent)
        held = made * 20 * 1024
        yield BytesRead(phase="close", live=2**20, counted=held, snapshots=held, active=2**20 + held, budget=2**33, nodes=made)
        yield RequestClosed(generated=32, stop="limit")
