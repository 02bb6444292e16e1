from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.events import BytesRead, Matched, RequestClosed
from kvlab.studies.demo import REPORT, Answers, demo
from kvlab.studies.request_rows import RowsAsTheyCome, table
from kvlab.units import GIB, KIB, MIB, Unit, unit_for, unit_that_shows
from kvlab.workloads import unrelated


def test_the_story_on_the_twin_of_the_embedded_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(_name: str) -> Any:
        return kvlab.twin("smollm2")

    monkeypatch.setattr(kvlab, "open", opened)
    told: list[str] = []
    recording = demo(tmp_path / "new", told.append)
    text = "\n".join(told)
    assert recording.requests.height == 15
    finding = kvlab.diagnose(recording).about("budget_or_leak")
    assert finding.verdict == "budget"
    reached = finding.numbers["plateau_reached_at_request"]
    assert isinstance(reached, int)
    assert 8 <= reached <= 12
    for words in ("Verdict: budget", "plateau predicted", "plateau observed", "full at request", "counted MiB", "What next", "capital of France"):
        assert words in text
    assert (tmp_path / "new" / REPORT).stat().st_size > 0
    assert kvlab.load(tmp_path / "new" / "demo.kvrec").requests.equals(recording.requests)
    counted = recording.requests.get_column("counted").to_list()
    assert counted[: reached - 1] == sorted(counted[: reached - 1])
    assert max(counted) <= recording.requests.item(0, "budget")


@pytest.mark.full
def test_the_story_on_the_embedded_model(tmp_path: Path) -> None:
    told: list[str] = []
    recording = demo(tmp_path, told.append)
    finding = kvlab.diagnose(recording).about("budget_or_leak")
    assert finding.verdict == "budget"
    assert finding.numbers["plateau_reached_at_request"] in range(8, 13)
    assert any("Paris" in line for line in told)
    assert recording.events.get_column("text").is_null().all()


def test_a_row_waits_for_its_bytes_and_its_end_in_either_order() -> None:
    told: list[str] = []
    rows = RowsAsTheyCome(unit_for(0), told.append)
    closing = [RequestClosed(request=1), BytesRead(phase="close", weights=5, live=4, snapshots=3, counted=2, active=13, nodes=3, request=1)]
    for order in (closing, closing[::-1]):
        rows.see(Matched(tokens=9, matched=4, cached=3, left=6, request=1))
        rows.see(BytesRead(phase="close", weights=99, source="twin", request=1))
        for event in order:
            rows.see(event)
    header, first, second = told
    assert "counted B" in header
    assert first == second
    assert first.split() == ["1", "4", "3", "6", "3", "2", "12", "13"]


def test_answers_are_kept_in_mind_without_storing_them() -> None:
    answers = Answers()
    answers.see(RequestClosed(request=2, text=" Paris. "))
    answers.see(RequestClosed(request=3, text=None))
    assert answers.texts == {2: "Paris."}


@pytest.mark.parametrize(
    ("largest", "unit"),
    [(0, Unit("B", 1)), (4 * KIB, Unit("KiB", KIB)), (4 * MIB, Unit("MiB", MIB)), (4 * GIB - 1, Unit("MiB", MIB)), (4 * GIB, Unit("GiB", GIB))],
)
def test_the_unit_suits_the_largest_figure(largest: int, unit: Unit) -> None:
    assert unit_for(largest) == unit


def test_a_figure_in_a_unit_has_decimals_unless_it_is_in_bytes() -> None:
    assert Unit("MiB", MIB).shown(3 * MIB // 2) == "1.50"
    assert Unit("MiB", MIB).shown(3 * MIB // 2, decimals=1) == "1.5"
    assert Unit("B", 1).shown(12) == "12"
    assert Unit("B", 1).shown(None) == "-"


@pytest.mark.parametrize(
    ("count", "decimals", "text"),
    [(0, 2, "0.00"), (1, 2, "<0.01"), (-1, 2, ">-0.01"), (MIB // 200, 2, "<0.01"), (MIB // 200 + 1, 2, "0.01"), (-MIB // 4, 0, ">-1"), (MIB // 50, 1, "<0.1")],
)
def test_a_few_bytes_do_not_look_like_none(count: int, decimals: int, text: str) -> None:
    assert Unit("MiB", MIB).shown(count, decimals) == text


@pytest.mark.parametrize(
    ("most", "values", "name"),
    [
        (8 * GIB, [], "GiB"),
        (8 * GIB, [0, None, GIB], "GiB"),
        (8 * GIB, [0, None, GIB, -MIB], "MiB"),
        (8 * GIB, [8 * GIB, 100], "KiB"),
        (8 * MIB, [100], "KiB"),
        (8 * MIB, [1], "B"),
        (0, [1], "B"),
    ],
)
def test_the_unit_in_which_a_difference_shows(most: int, values: list[int | None], name: str) -> None:
    assert unit_that_shows(most, values).name == name


def test_the_table_of_a_recording_has_a_row_a_request() -> None:
    recording = kvlab.twin("smollm2").run(unrelated(3), progress=False)
    assert len(table(recording).splitlines()) == 4
