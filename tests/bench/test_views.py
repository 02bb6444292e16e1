"""The bench of the dashboard, without its measuring: the recordings it draws, and what it says of figures."""

from __future__ import annotations

import pytest

from tests.bench.views import ABOUT, BARS, Measured, as_text, synthetic
from tests.bench.views_altair import altair_trie, interval_rows


@pytest.mark.parametrize("nodes", [10, 2_000])
def test_a_made_up_recording_has_so_many_nodes(nodes: int) -> None:
    recording = synthetic(nodes)
    end = recording.at(recording.events.item(-1, "seq"))
    assert end.nodes.height == nodes
    assert end.spans.height == nodes - 2
    assert len(interval_rows(recording)) == nodes


def figures(**changes: float) -> Measured:
    times = {name: [BARS.get(name, 1.0)] * 3 for name in ABOUT} | {name: [value] for name, value in changes.items()}
    return Measured(rounds=3, times=times, sent_bytes={"sent": 10, "got": 20})


def test_bars_are_medians_that_may_be_reached() -> None:
    assert figures().passed
    assert figures(scrub=60.1).passed is False
    assert Measured(3, figures().times | {"scrub": [1.0, 1.0, 900.0]}, {}).passed


def test_what_is_said() -> None:
    text = as_text(figures(scrub_large=500))
    assert "above its bar" in text
    assert "10 B sent, 20 B got" in text
    told = figures().to_dict()
    assert told["passed"] is True
    assert set(told["rows"]) == set(ABOUT)


def test_the_peer_is_moved_by_a_slider_in_the_page() -> None:
    spec = altair_trie(10).spec
    (param,) = spec["params"]
    assert param["bind"]["input"] == "range"
    assert param["bind"]["max"] == param["value"] == synthetic(10).events.item(-1, "seq")
    assert spec["transform"] == [{"filter": "datum.born <= at && at < datum.died"}]
