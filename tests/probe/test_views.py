"""A probe's recording shows what was seen: a chart with words beside it, and rows as text."""

from __future__ import annotations

from typing import Any

import kvlab
from kvlab.probe import Probe
from kvlab.views.mimebundle import text_form
from kvlab.views.outside import outside_chart, outside_text
from tests.probe.recorded_server import GIB, JumpingClock, World


def lines(recording: kvlab.Recording) -> dict[str, list[float]]:
    made: dict[str, Any] = outside_chart(recording).to_dict()
    (rows,) = made["datasets"].values()
    drawn: dict[str, list[float]] = {}
    for row in rows:
        drawn.setdefault(row["gauge"], []).append(row["bytes"])
    return drawn


def test_over_requests(probe: Probe, world: World) -> None:
    world.grows = GIB
    recording = probe.run("unrelated:3", progress=False)
    assert lines(recording) == {"listed size": [19, 20, 21], "footprint of the processes": [20, 21, 22]}
    made = outside_chart(recording).to_dict()
    assert "listed size 19.00 GiB to 21.00 GiB" in made["title"]["subtitle"]
    assert "listed size 19.00 GiB to 21.00 GiB" in made["description"]


def test_over_time(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "size", 20 * GIB))
    assert lines(probe.watch(6, every=2))["listed size"] == [18, 18, 20, 20]


def test_nothing_was_read(probe: Probe, world: World) -> None:
    world.answers["/api/ps"] = b"?"
    world.server = world.runner = None
    assert outside_chart(probe.look()).to_dict()["description"] == "no bytes were read"


def test_text(probe: Probe, world: World) -> None:
    world.grows = GIB
    recording = probe.run("unrelated:3", progress=False)
    shown = outside_text(recording)
    assert "question 3" in shown
    assert "size GiB" in shown
    assert "21.00" in shown
    assert "swap" not in shown
    assert shown in text_form(recording)
